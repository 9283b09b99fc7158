package tty

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/ui/glyph"
)

func TestKeys(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want []Key
	}{
		{"a", []Key{{Code: Char, Rune: 'a'}}},
		{"é日", []Key{{Code: Char, Rune: 'é'}, {Code: Char, Rune: '日'}}},
		{"\r\t\x7f\x08", []Key{{Code: Enter}, {Code: Tab}, {Code: Backspace}, {Code: Backspace}}},
		{"\x03\x1a", []Key{{Code: Ctrl, Rune: 'c'}, {Code: Ctrl, Rune: 'z'}}},
		{"\x1b[A\x1bOB\x1b[C\x1b[D", []Key{{Code: Up}, {Code: Down}, {Code: Right}, {Code: Left}}},
		{"\x1b[1;5C", []Key{{Code: Right}}},
		{"\x1b[5~\x1b[6~\x1b[H\x1b[4~\x1b[Z",
			[]Key{{Code: PageUp}, {Code: PageDown}, {Code: Home}, {Code: End}, {Code: BackTab}}},
		{"\x1bOP\x1b[11~\x1b[[A", []Key{{Code: F1}, {Code: F1}, {Code: F1}}},
		{"\x1b[<0;10;5M\x1b[<0;10;5m", []Key{{Code: Click, X: 9, Y: 4}}},
		{"\x1b[<64;1;1M\x1b[<65;1;1M", []Key{{Code: WheelUp}, {Code: WheelDown}}},
		{"\x1b]11;rgb:ffff/ffff/f0f0\x1b\\", []Key{{Code: Background, Rune: 'l'}}},
		{"\x1b]11;rgb:1e/1e/2e\x07x", []Key{{Code: Background, Rune: 'd'}, {Code: Char, Rune: 'x'}}},
		{"\x1b[200~\x1bx\x1b[99;99X", nil},
		{"\xff\xc3", nil},
	} {
		var whole, parts Decoder
		if got := whole.Add([]byte(tt.in)); !slices.Equal(got, tt.want) {
			t.Errorf("%q is %v, want %v", tt.in, got, tt.want)
		}
		var got []Key
		for i := range len(tt.in) { // as it may come: a byte at a time
			got = append(got, parts.Add([]byte{tt.in[i]})...)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q in bytes is %v, want %v", tt.in, got, tt.want)
		}
	}
	var d Decoder
	if got := d.Add([]byte{0x1b}); got != nil || !d.Open() {
		t.Errorf("an escape may go on: %v", got)
	}
	if got := d.Flush(); !slices.Equal(got, []Key{{Code: Escape}}) || d.Open() {
		t.Errorf("an escape alone is %v", got)
	}
}

func FuzzKeys(f *testing.F) {
	f.Add([]byte("\x1b[<0;10;5M"), 3)
	f.Add([]byte("\x1b]11;rgb:1/2/3\x07"), 1)
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		var d Decoder
		cut = min(max(cut, 0), len(in))
		d.Add(in[:cut])
		d.Add(in[cut:])
		d.Flush()
		if d.Open() {
			t.Error("something is left")
		}
	})
}

// A model of a terminal: what Paint uses of one, and nothing else.
type model struct {
	w, h, x, y int
	cells      []Cell
	style      Style
	t          *testing.T
}

func (m *model) write(p []byte) {
	for s := string(p); s != ""; {
		if rest, ok := strings.CutPrefix(s, "\x1b["); ok {
			end := strings.IndexFunc(rest, func(r rune) bool { return r >= '@' && r <= '~' })
			m.control(rest[:end], rest[end])
			s = rest[end+1:]
			continue
		}
		r, _ := utf8.DecodeRuneInString(s)
		if r < ' ' || r == 0x7f {
			m.t.Fatalf("a control character: %q", s[:min(len(s), 20)])
		}
		cluster, w := glyph.First(s)
		s = s[len(cluster):]
		if m.x < 0 || m.x+w > m.w || m.y >= m.h {
			m.t.Fatalf("written outside, at %d, %d of %dx%d", m.x, m.y, m.w, m.h)
		}
		m.cells[m.y*m.w+m.x] = Cell{Text: cluster, Style: m.style}
		if w == 2 {
			m.cells[m.y*m.w+m.x+1] = Cell{Style: m.style}
		}
		if m.x += w; m.x == m.w {
			m.x = -1
		}
	}
}

func (m *model) control(params string, final byte) {
	var n []int
	for part := range strings.SplitSeq(strings.TrimPrefix(params, "?"), ";") {
		i, _ := strconv.Atoi(part)
		n = append(n, i)
	}
	switch final {
	case 'H':
		m.y, m.x = n[0]-1, n[1]-1
	case 'J':
		clear(m.cells)
	case 'm':
		m.style = Style{}
		for i := 0; i < len(n); i++ {
			switch {
			case n[i] == 1:
				m.style.Attr |= Bold
			case n[i] == 4:
				m.style.Attr |= Underline
			case n[i] == 7:
				m.style.Attr |= Reverse
			case n[i] == 38 || n[i] == 48:
				c := RGB(uint32(n[i+2]<<16 | n[i+3]<<8 | n[i+4]))
				if n[i] == 38 {
					m.style.Fg = c
				} else {
					m.style.Bg = c
				}
				i += 4
			}
		}
	case 'h', 'l':
	default:
		m.t.Fatalf("unknown sequence %q%c", params, final)
	}
}

// The terminal shows the last of all that is drawn, one after the other.
func TestPaint(t *testing.T) {
	texts := []string{"a", "bc", "日本", "é", "e\u0301", "😀", "▏█", " ", "", "long text that is cut off"}
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := Screen{Depth: TrueColor}
		w, h := 1+r.IntN(30), 1+r.IntN(10)
		m := &model{w: w, h: h, cells: make([]Cell, w*h), t: t}
		for step := range 20 {
			g := NewGrid(w, h)
			for range r.IntN(30) {
				st := Style{Attr: Attr(r.IntN(8))}
				if r.IntN(2) == 0 {
					st.Fg, st.Bg = RGB(r.Uint32()), RGB(0xE69F00)
				}
				g.Put(r.IntN(w+4)-2, r.IntN(h+2)-1, r.IntN(12), texts[r.IntN(len(texts))], st)
			}
			if r.IntN(5) == 0 {
				s.Forget()
			}
			m.write(s.Paint(g))
			for i, c := range g.cells {
				got := m.cells[i]
				if c.wide = false; c.Text == " " {
					c.Text = ""
				}
				if got.Text == " " {
					got.Text = ""
				}
				if got != c {
					t.Fatalf("seed %d, step %d: cell %d is %+v, want %+v", seed, step, i, got, c)
				}
			}
		}
	}
}

// Fewer colors are near those that are meant.
func TestColors(t *testing.T) {
	for _, tt := range []struct {
		rgb       uint32
		c256, c16 int
	}{{0, 16, 0}, {0xFFFFFF, 231, 15}, {0xFF0000, 196, 9}, {0x808080, 244, 8}, {0x56B4E9, 74, 14}} {
		r, g, b := int(tt.rgb>>16), int(tt.rgb>>8&255), int(tt.rgb&255)
		if got := near256(r, g, b); got != tt.c256 {
			t.Errorf("%06x of 256 is %d, want %d", tt.rgb, got, tt.c256)
		}
		if got := near16(r, g, b); tt.rgb != 0x56B4E9 && got != tt.c16 {
			t.Errorf("%06x of 16 is %d, want %d", tt.rgb, got, tt.c16)
		}
	}
}

// pty makes a pair of terminals: what is written to one is read from the other.
func pty(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminals: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Skip(err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Skip(err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}

// A terminal is left as it was found, however often it is taken.
func TestRestore(t *testing.T) {
	master, slave := pty(t)
	go func() { // somebody reads
		buf := make([]byte, 4096)
		for {
			if _, err := master.Read(buf); err != nil {
				return
			}
		}
	}()
	before, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	if err := Usable(slave, "xterm"); err != nil {
		t.Error(err)
	}
	if Usable(slave, "dumb") == nil || Usable(slave, "") == nil {
		t.Error("a terminal that moves no cursor is drawn on")
	}
	if f, err := os.Open(os.DevNull); err == nil {
		if Usable(f, "xterm") == nil {
			t.Error("/dev/null is a terminal")
		}
		f.Close()
	}
	env := func(name string) string { return map[string]string{"TERM": "xterm-256color"}[name] }
	term, err := Open(slave, env, Options{})
	if err != nil {
		t.Fatal(err)
	}
	during, _ := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
	if during.Lflag&(unix.ECHO|unix.ICANON|unix.ISIG) != 0 || term.Depth != Colors256 {
		t.Error("keys do not come as they are pressed")
	}
	term.Show(NewGrid(10, 5))
	for range 2 {
		term.Restore()
		term.Restore()
		after, _ := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
		if *after != *before {
			t.Errorf("the terminal is %+v, was %+v", after, before)
		}
		term.Show(NewGrid(10, 5)) // goes nowhere
		if err := term.Take(); err != nil {
			t.Fatal(err)
		}
	}
	term.Close()
	if after, _ := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS); *after != *before {
		t.Errorf("the terminal is %+v, was %+v", after, before)
	}
}
