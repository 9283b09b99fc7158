package tty

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Code says which key was pressed, or what else the terminal said.
type Code uint8

// The codes.
const (
	Char Code = iota // Rune
	Enter
	Tab
	BackTab
	Backspace
	Escape
	Up
	Down
	Left
	Right
	PageUp
	PageDown
	Home
	End
	F1
	Ctrl       // with Rune, a small letter
	Click      // at X, Y
	WheelUp    // at X, Y
	WheelDown  // at X, Y
	Background // the terminal's is light if Rune is 'l', else dark
	Unknown    // of no use
)

// A Key is something that the terminal said.
type Key struct {
	Code Code
	Rune rune
	X, Y int
}

// A Decoder makes keys of the bytes that a terminal sends.
type Decoder struct{ buf []byte }

// Add adds bytes and returns the keys that are complete.
func (d *Decoder) Add(p []byte) (keys []Key) {
	d.buf = append(d.buf, p...)
	for len(d.buf) > 0 {
		k, n := decode(d.buf)
		if n == 0 {
			break
		}
		d.buf = d.buf[n:]
		if k.Code != Unknown {
			keys = append(keys, k)
		}
	}
	return keys
}

// Open reports whether the beginning of a key has come and not its end.
func (d *Decoder) Open() bool { return len(d.buf) > 0 }

// Flush says that nothing more comes: an escape that stands alone is the key.
func (d *Decoder) Flush() (keys []Key) {
	if len(d.buf) > 0 && d.buf[0] == 0x1b && len(d.buf) == 1 {
		keys = []Key{{Code: Escape}}
	}
	// Any other beginning without an end is of no use.
	d.buf = nil
	return keys
}

// maxSequence bounds what is taken for one sequence.
const maxSequence = 256

// decode reads a key; n is 0 if its end has not come.
func decode(b []byte) (k Key, n int) {
	switch c := b[0]; {
	case c == 0x1b:
		return escape(b)
	case c == '\r' || c == '\n':
		return Key{Code: Enter}, 1
	case c == '\t':
		return Key{Code: Tab}, 1
	case c == 0x7f || c == 8:
		return Key{Code: Backspace}, 1
	case c < ' ':
		// With control a letter sends its place in the alphabet.
		return Key{Code: Ctrl, Rune: rune(c) + 0x60}, 1
	case c < utf8.RuneSelf:
		return Key{Code: Char, Rune: rune(c)}, 1
	case !utf8.FullRune(b):
		return k, 0
	}
	r, n := utf8.DecodeRune(b)
	if r == utf8.RuneError {
		return Key{Code: Unknown}, n
	}
	return Key{Code: Char, Rune: r}, n
}

// escape reads a sequence that begins with an escape.
func escape(b []byte) (Key, int) {
	if len(b) < 2 {
		return Key{}, 0
	}
	switch b[1] {
	case '[':
		for i := 2; i < len(b); i++ {
			// The console of Linux sends F1 as a sequence with a second bracket.
			if b[i] >= 0x40 && b[i] <= 0x7e && !(i == 2 && b[i] == '[') {
				return control(string(b[2:i]), b[i]), i + 1
			}
			if i == maxSequence {
				return Key{Code: Unknown}, i
			}
		}
		return Key{}, 0
	case 'O':
		// Terminals send this form in a mode that some programs leave on.
		if len(b) < 3 {
			return Key{}, 0
		}
		return control("", b[2]), 3
	case ']':
		return report(b)
	case 0x1b:
		// The first is a key of its own; what the second begins has not come yet.
		return Key{Code: Escape}, 1
	}
	return Key{Code: Unknown}, 2 // with Alt
}

// final is the key that a letter at the end of a sequence means.
func final(b byte) Code {
	switch b {
	case 'A':
		return Up
	case 'B':
		return Down
	case 'C':
		return Right
	case 'D':
		return Left
	case 'H':
		return Home
	case 'F':
		return End
	case 'Z':
		return BackTab
	case 'P':
		return F1
	}
	return Unknown
}

// numbered is the key that a number in front of a tilde means.
func numbered(n string) Code {
	switch n {
	case "1", "7":
		return Home
	case "4", "8":
		return End
	case "5":
		return PageUp
	case "6":
		return PageDown
	case "11":
		return F1
	}
	return Unknown
}

// control is a sequence by its parameters and its last byte.
func control(params string, last byte) Key {
	switch {
	case strings.HasPrefix(params, "<") && (last == 'M' || last == 'm'):
		return mouse(params[1:], last == 'M')
	case last == '~':
		number, _, _ := strings.Cut(params, ";")
		return Key{Code: numbered(number)}
	case params == "[" && last == 'A': // of the console of Linux
		return Key{Code: F1}
	}
	return Key{Code: final(last)}
}

// mouse reads a report of the mouse: the button, column and line, from 1.
func mouse(params string, pressed bool) Key {
	parts := strings.Split(params, ";")
	if len(parts) != 3 || !pressed {
		return Key{Code: Unknown}
	}
	var n [3]int
	for i := range n {
		n[i], _ = strconv.Atoi(parts[i])
	}
	k := Key{X: n[1] - 1, Y: n[2] - 1}
	switch n[0] &^ 0x1c { // whatever else is held down
	case 0:
		k.Code = Click
	case 64:
		k.Code = WheelUp
	case 65:
		k.Code = WheelDown
	default:
		k.Code = Unknown
	}
	return k
}

// report reads what the terminal answers about itself.
func report(b []byte) (Key, int) {
	end, skip := bytes.IndexByte(b, 7), 1
	if st := bytes.Index(b, []byte("\x1b\\")); st >= 0 && (end < 0 || st < end) {
		end, skip = st, 2
	}
	if end < 0 {
		if len(b) > maxSequence {
			return Key{Code: Unknown}, len(b)
		}
		return Key{}, 0
	}
	color, ok := strings.CutPrefix(string(b[2:end]), "11;rgb:")
	parts := strings.Split(color, "/")
	if !ok || len(parts) != 3 {
		return Key{Code: Unknown}, end + skip
	}
	light := 0.0
	// Terminals send one to four digits for each part of a color.
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 16, 32)
		if err != nil || len(part) == 0 {
			return Key{Code: Unknown}, end + skip
		}
		light += [...]float64{0.3, 0.59, 0.11}[i] * float64(n) / float64(uint64(1)<<(4*len(part))-1)
	}
	if light > 0.5 {
		return Key{Code: Background, Rune: 'l'}, end + skip
	}
	return Key{Code: Background, Rune: 'd'}, end + skip
}
