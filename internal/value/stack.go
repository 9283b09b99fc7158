package value

import (
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/hawktrace/hawk/internal/types"
)

// A Stack is a captured stack, the innermost address first. It holds addresses;
// names are found when they are asked for. Its methods may be called from any
// goroutine from which the Namer may be.
type Stack struct {
	Mode  types.StackMode // how it reads as text
	User  bool            // of a process, else of the kernel
	PID   int             // of a user stack, as the kernel counts them
	Addrs []uint64
	// Broken: the kernel could not follow the stack to its end. Doubtful: it may
	// not have, which the Namer finds out.
	Broken, Doubtful bool

	// Namer finds names; nil: there are none. Fixed: they never change, so that they are not kept here.
	Namer Namer
	Fixed bool

	shared atomic.Bool
	text   atomic.Pointer[string] // of one that is shared
	named  atomic.Pointer[Named]
}

// Named is a stack with what is known of its frames, which other stacks may have, too: they are not to be changed.
type Named struct {
	Frames    []*Frame
	Truncated bool // it was not followed to its end, or may be wrong
}

// A Frame is one function of a stack: the one that an address lies in, or one
// that is inlined there. Of several at one address the innermost comes first, and
// the function that has the symbol last.
type Frame struct {
	Addr       uint64 // in memory
	Func       string // "" if it is not known
	Offset     uint64 // of the address from the start of Func, bytes
	Caller     string // of a call that is the end of its function: that one, where Func is the next; else ""
	Module     string // file as the process has it, "[vdso]", "[jit]"; of the kernel its module; "" if unknown
	BuildID    string // of Module, in hexadecimal; "" if unknown
	FileOffset uint64 // of the address in Module, if BuildID is known
	File       string // of the source, with the setting show_debug_info; "" if unknown
	Line       int
	Inlined    bool
}

// Depth says how much a Namer is to find out.
type Depth uint8

// The depths.
const (
	ForText Depth = iota // what the text of the stack shows
	All                  // build IDs and modules too
)

// A Namer finds the names of a stack's frames.
type Namer interface {
	// FramesAt calls f for the frames at an address of a stack, by its number, the
	// innermost first. The frame is the one given, and valid during the call; of a stack that is Fixed it is one
	// that stays.
	FramesAt(s *Stack, i int, d Depth, frame *Frame, f func(*Frame))
	// Truncated reports whether a stack was not followed to its end, or may be wrong.
	Truncated(s *Stack) bool
	// Lines are kept from one comparison of stacks to the next; nil: none are.
	Lines() *Lines
	// Pool has the frames that stacks share; nil: each has its own.
	Pool() *Pool
}

// A Pool keeps each frame once: most stacks of a program have most frames in common.
type Pool struct {
	mu     sync.Mutex
	frames map[Frame]*Frame
}

// maxPool bounds the frames of a Pool.
const maxPool = 1 << 16

// of is the frame that stands for all that are equal.
func (p *Pool) of(f *Frame) *Frame {
	if p == nil {
		one := *f
		return &one
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.frames[*f]; one != nil {
		return one
	}
	// Forgetting all is simplest: stacks keep the frames that they have.
	if p.frames == nil || len(p.frames) >= maxPool {
		p.frames = map[Frame]*Frame{}
	}
	one := *f
	p.frames[one] = &one
	return &one
}

// Named finds all that is known of a stack, once. After that nobody is asked for
// names.
func (s *Stack) Named() Named {
	if n := s.named.Load(); n != nil {
		return *n
	}
	n := Named{Frames: make([]*Frame, 0, len(s.Addrs))}
	if s.Fixed {
		n.Truncated = s.each(All, func(f *Frame) { n.Frames = append(n.Frames, f) })
		return n
	}
	var pool *Pool
	if s.Namer != nil {
		pool = s.Namer.Pool()
	}
	n.Truncated = s.each(All, func(f *Frame) { n.Frames = append(n.Frames, pool.of(f)) })
	s.named.Store(&n)
	return n
}

// Settle finds the names of all stacks in a value, which then stay as they are.
// Whoever keeps values longer than the run calls it: processes end, and their files may be
// replaced.
func Settle(v Value) {
	switch v := v.(type) {
	case *Stack:
		v.Named()
	case Tuple:
		settle(v)
	case Array:
		settle(v)
	case Record:
		settle(v.Values)
	}
}

// settle is Settle for the elements of a value.
func settle(vs []Value) {
	for _, v := range vs {
		Settle(v)
	}
}

// each calls f for all frames: as they were found, or by asking for them now.
func (s *Stack) each(d Depth, f func(*Frame)) (truncated bool) {
	if n := s.named.Load(); n != nil {
		for _, frame := range n.Frames {
			f(frame)
		}
		return n.Truncated
	}
	var frame Frame
	for i := range s.Addrs {
		s.at(i, d, &frame, f)
	}
	if s.Namer != nil {
		return s.Namer.Truncated(s)
	}
	return s.Broken
}

// at calls f for the frames at address i.
func (s *Stack) at(i int, d Depth, frame *Frame, f func(*Frame)) {
	*frame = Frame{Addr: s.Addrs[i]}
	if s.Namer != nil {
		s.Namer.FramesAt(s, i, d, frame, f)
	} else {
		f(frame)
	}
}

// String is the text of the stack: a newline, and a line for each frame.
func (s *Stack) String() string { return string(s.appendText(nil, false)) }

// appendText adds the text, of which names are escaped if they may reach a terminal.
func (s *Stack) appendText(dst []byte, escape bool) []byte {
	if text := s.text.Load(); text != nil && !escape {
		return append(dst, *text...)
	}
	start := len(dst)
	w := frameWriter{append(dst, '\n'), s, escape}
	if s.each(ForText, w.frame) {
		w.add("        <unwind failure>\n")
	}
	if s.shared.Load() && !escape {
		text := string(w.dst[start:])
		s.text.Store(&text)
	}
	return w.dst
}

// Share says that the stack stands in several places: its text is kept once made.
func (s *Stack) Share() { s.shared.Store(true) }

// A frameWriter writes the lines of a stack.
type frameWriter struct {
	dst    []byte
	stack  *Stack
	escape bool
}

// name adds a name of a traced program.
func (w *frameWriter) name(text string) {
	if w.escape {
		w.dst = appendEscaped(w.dst, text, "")
	} else {
		w.dst = append(w.dst, text...)
	}
}

// add adds text of hawk's own, which needs no escaping.
func (w *frameWriter) add(text string) { w.dst = append(w.dst, text...) }

// frame adds the line of a frame.
func (w *frameWriter) frame(f *Frame) {
	switch mode := w.stack.Mode; {
	case mode == types.StackBuildID && f.BuildID != "":
		w.add(f.BuildID)
		w.add(" 0x")
		w.dst = strconv.AppendUint(w.dst, f.FileOffset, 16)
	case mode == types.StackBuildID, mode == types.StackRaw:
		w.dst = strconv.AppendUint(w.dst, f.Addr, 16)
	case mode == types.StackPerf:
		w.dst = append(w.dst, '\t')
		w.dst = strconv.AppendUint(w.dst, f.Addr, 16)
		w.dst = append(w.dst, ' ')
		if f.Inlined {
			w.name(f.Func)
			w.add(" (inlined)")
			break
		}
		w.function(f)
		if !w.stack.User {
			break
		}
		w.add(" (")
		if f.Func == "" {
			w.add("[unknown]") // even if the file is known, as the reference
		} else {
			w.name(f.Module)
		}
		w.dst = append(w.dst, ')')
	case f.Inlined:
		w.add("        [inlined] ")
		w.name(f.Func)
		w.position(f)
	default:
		w.add("        ")
		w.function(f)
		w.position(f)
	}
	w.dst = append(w.dst, '\n')
}

// function adds a name and the offset into it. Without a name it is the address.
func (w *frameWriter) function(f *Frame) {
	if f.Func == "" {
		w.dst = appendPointer(w.dst, f.Addr)
		return
	}
	w.name(f.Func)
	w.dst = append(w.dst, '+')
	w.dst = strconv.AppendUint(w.dst, f.Offset, 10)
}

// position adds the place in the source, nothing if it is not known.
func (w *frameWriter) position(f *Frame) {
	if f.File == "" || f.Line == 0 {
		return
	}
	w.dst = append(w.dst, '@')
	w.name(f.File)
	w.dst = append(w.dst, ':')
	w.dst = strconv.AppendInt(w.dst, int64(f.Line), 10)
}
