package strace

import (
	"bytes"
	"math/bits"
	"strconv"
	"strings"
)

// called appends the arguments of a call from one on, up to its closing parenthesis; of one that has not
// returned those in front of the first that it makes. Arguments come from the six registers in
// order, floating point ones excepted: those travel in registers that the script does not read, so
// that they take no turn. A seventh and later ones lie on the stack and are shown as "...".
func (s *librarySink) called(f *frame, from int) {
	// The decoder's methods look at this one's memory from here on.
	s.c = &f.Call
	if f.of.system {
		s.systemCalled(f, from)
		return
	}
	register := 0
	f.mark = len(f.of.args)
	for i, a := range f.of.args {
		// The line ends in front of what the call is yet to write; "resumed" takes it up.
		if s.c.Unfinished && !f.of.alone && (a.kind == "S" || a.kind == "r") {
			f.mark = i
			return
		}
		// The caller passed no mode then; the register holds what was left in it.
		if a.kind == "m" && s.num(register-1)&s.creates() == 0 {
			continue
		}
		if i < from {
			if a.kind != "D" {
				register++
			}
			continue
		}
		if i > 0 {
			s.str(", ")
		}
		if a.kind == "D" {
			s.str("<double>")
			continue
		}
		// Registers that pass arguments are six on amd64; arm64 has eight, of which the script
		// reads as many.
		if register == len(s.c.Args) {
			s.str("...")
			return
		}
		v := s.num(register)
		switch a.kind {
		case "F":
			s.format(f, register)
		case "b":
			// "b2": the size is argument 2. "b1*": argument 1 times the one behind it, as of
			// fwrite().
			n := s.num(int(a.param[0] - '0'))
			if len(a.param) > 1 {
				n *= s.num(int(a.param[0]-'0') + 1)
			}
			s.bytes(v, int64(n), true)
		case "r":
			s.bytes(v, f.Result, false)
		case "n":
			s.text1(v, s.num(int(a.param[0]-'0')), true)
		case "l":
			s.text0(v, true)
			if v == 0 { // ends the list
				return
			}
		default:
			s.value(a, v)
		}
		register++
	}
}

// systemCalled is called of a system call. Its arguments are decoded as strace's are, and not by
// functions.txt.
func (s *librarySink) systemCalled(f *frame, from int) {
	switch {
	case from > 0:
		s.rest(&f.Call)
	default:
		s.decode(&f.Call)
		if f.Unfinished && !f.of.alone {
			s.b, f.mark = s.b[:s.Sink.mark], 1
		}
	}
}

// value appends an argument or a result. The kinds are those of functions.txt. Narrow ones are cut
// first: the upper half of a register that holds an int is not defined.
func (s *librarySink) value(a arg, v uint64) {
	switch a.kind {
	case "d":
		s.int(int64(int32(v)))
	case "u":
		s.uint(uint64(uint32(v)))
	case "ld":
		s.int(int64(v))
	case "lu":
		s.uint(v)
	case "s":
		s.text0(v, true)
	case "S":
		s.text0(v, false)
	case "c":
		s.character(v)
	case "g":
		s.signal(int(int32(v)))
	case "x":
		s.hex(uint64(uint32(v)))
	case "o", "m":
		s.octal(uint64(uint32(v)))
	case "open":
		s.openFlags(uint64(uint32(v)))
	case "f":
		s.flags(a.param, uint64(uint32(v)))
	case "e":
		s.enum(a.param, uint64(uint32(v)))
	case "E":
		s.enumerated(a.param, int64(int32(v)))
	case "w":
		s.bits(uint64(uint32(v)), 32)
	case "B":
		s.bits(v, 64)
	case "v":
		s.str("<void>")
	case "D":
		s.str("<double>")
	default:
		s.hex(v)
	}
}

// enumerated appends the name of a number, out of "NAME=NUMBER, NAME=NUMBER", or the number. The
// list is one of -F, and so of the user's: a number in it that is none is passed over.
func (s *librarySink) enumerated(names string, v int64) {
	for word := range strings.SplitSeq(names, ", ") {
		name, number, _ := strings.Cut(word, "=")
		if n, err := strconv.ParseInt(number, 0, 64); err == nil && n == v {
			s.str(name)
			return
		}
	}
	s.int(v)
}

// bits appends the numbers of the bits that are set, of which there are so many: <0-2,4>; with ~ in front of those
// that are not set if these are fewer. This is how ltrace shows a bitvec.
func (s *librarySink) bits(v uint64, width int) {
	if n := bits.OnesCount64(v); n > width-n {
		s.str("~")
		v = ^v & (1<<width - 1)
	}
	s.str("<")
	for at, first := 0, true; v>>at != 0; at++ {
		run := bits.TrailingZeros64(^(v >> at)) // that are set from here on
		if run == 0 {
			continue
		}
		if !first {
			s.str(",")
		}
		first = false
		s.int(int64(at))
		if at += run - 1; run > 1 {
			s.str("-")
			s.int(int64(at))
		}
	}
	s.str(">")
}

// character appends a char in single quotes, and a number for one that is none (EOF is -1).
func (s *librarySink) character(v uint64) {
	if int32(v) < 0 || int32(v) > 255 {
		s.int(int64(int32(v)))
		return
	}
	quoted := appendQuoted(nil, []byte{byte(v)}, s.o.Quoting)
	quoted[0], quoted[len(quoted)-1] = '\'', '\''
	s.b = append(s.b, quoted...)
}

// text0 appends a string that ends with NUL; early: as it was when the call began.
func (s *librarySink) text0(addr uint64, early bool) { s.text1(addr, 1<<63, early) }

// text1 appends a string that ends with NUL or has so many bytes. The copy of a string when the
// call has not returned would be one of memory that is yet to be written.
func (s *librarySink) text1(addr, most uint64, early bool) {
	// A mebibyte is more than any record carries: all that was copied is taken.
	b, ok := s.c.mem.at(addr, 1<<20, early)
	switch {
	case addr == 0:
		s.str("nil")
	case !ok || !early && s.c.Unfinished:
		s.hex(addr)
	default:
		b, _, ended := bytes.Cut(b, []byte{0})
		total := uint64(len(b))
		// One more than there is makes text() append its "...".
		if total >= most {
			total = most
			b = b[:most]
		} else if !ended {
			total++
		}
		s.text(b, total)
	}
}

// bytes appends n bytes of data. n is as the program gave it, negative or beyond all memory
// perhaps, and is cut to what can have been copied. One that is too large shows as an address,
// since nothing of it was copied.
func (s *librarySink) bytes(addr uint64, n int64, early bool) {
	b, ok := s.c.mem.at(addr, int(max(0, min(n, 1<<20))), early)
	switch {
	case n == 0 && addr != 0:
		s.str(`""`)
	case !ok || n < 0 || !early && s.c.Unfinished:
		s.hex(addr)
	default:
		s.text(b, uint64(n))
	}
}

// format appends a format and the arguments that its conversions take.
//
// Behind the registers they lie on the stack, of which the script copied 64 bytes. That is so on
// amd64 alone: there the return address lies at the stack pointer, and variadic arguments in slots
// of 8 bytes behind it. Where they are not at hand the rest is "...".
func (s *librarySink) format(f *frame, register int) {
	addr := s.num(register)
	s.text0(addr, true)
	b, ok := f.mem.at(addr, 512, true)
	// A format that is cut off (functionFormat copies 512 bytes) is not taken apart: its last
	// conversion would be a wrong one.
	text, _, ended := strings.Cut(string(b), "\x00")
	if !ok || !ended {
		return
	}
	var stack []byte
	if s.o.Arch == "amd64" {
		stack, _ = f.mem.at((f.sp+7)&^7+8, 64, true)
	}
	register++
	next := func() (v uint64, ok bool) {
		switch at := 8 * (register - len(f.Args)); {
		case at < 0:
			v, ok = f.Args[register], true
		case at+8 <= len(stack):
			v, ok = u64(stack, at), true
		}
		register++
		return v, ok
	}
	for {
		c, rest, found := conversionIn(text)
		if !found {
			return
		}
		text = rest
		if !s.converted(c, next) {
			s.str("...")
			return
		}
	}
}

// A conversion is one of a format of printf(), without its "%".
type conversion struct {
	flags  string // and width, precision and length
	letter byte
}

// conversionIn is the first conversion of a format, and what is behind it. Flags, widths, precisions
// and lengths come in any order: a format that C would refuse is not refused here.
func conversionIn(format string) (c conversion, rest string, found bool) {
	_, spec, _ := strings.Cut(format, "%")
	length := strings.IndexFunc(spec, func(r rune) bool {
		return !strings.ContainsRune("-+ #0'123456789.*hlqjztL", r)
	})
	if length < 0 {
		return c, "", false
	}
	return conversion{spec[:length], spec[length]}, spec[length+1:], true
}

// long reports whether a conversion is of a value of 64 bits.
func (c conversion) long() bool { return strings.ContainsAny(c.flags, "ljztq") }

// converted appends the arguments of a conversion, which next takes from registers and stack; false if
// its value is not at hand. Values narrower than a register were widened by the caller, and so one
// register or slot is one value.
func (s *librarySink) converted(c conversion, next func() (uint64, bool)) bool {
	_, precision, limited := strings.Cut(c.flags, ".")
	most, err := strconv.ParseUint(precision, 10, 32)
	limited = limited && err == nil
	// Each "*" is a width or a precision, an int in front of the value.
	for range strings.Count(c.flags, "*") {
		if v, ok := next(); ok {
			s.str(", ")
			s.int(int64(int32(v)))
			// A precision comes last; one that is a number stays.
			if strings.HasPrefix(precision, "*") {
				most, limited = uint64(v), int32(v) >= 0
			}
		}
	}
	kind := kinds[c.letter]
	if kind == "" { // "%%" and letters that C does not know take no argument
		return true
	}
	s.str(", ")
	if kind == "D" {
		s.str("<double>")
		return true
	}
	if c.long() && (kind == "d" || kind == "u") {
		kind = "l" + kind
	} else if strings.HasSuffix(c.flags, "hh") && kind == "d" {
		kind = "c"
	}
	v, ok := next()
	switch {
	case !ok:
		return false
	// %x and %X take an unsigned int.
	case kind == "p" && c.letter != 'p' && !c.long():
		v = uint64(uint32(v))
	case kind == "c":
		v = uint64(uint8(v))
	case kind == "s" && limited:
		s.text1(v, most, true)
		return true
	}
	s.value(arg{kind: kind}, v)
	return true
}

// kinds say how the argument of a conversion is shown, in the words of functions.txt, by its
// letter.
var kinds = map[byte]string{'d': "d", 'i': "d", 'u': "u", 'x': "p", 'X': "p", 'o': "o", 'c': "c", 's': "s", 'p': "p",
	'n': "p", 'S': "p", 'C': "d", 'f': "D", 'F': "D", 'e': "D", 'E': "D", 'g': "D", 'G': "D", 'a': "D", 'A': "D"}
