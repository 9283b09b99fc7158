package session

import (
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/dwarf"
	"github.com/hawktrace/hawk/internal/symbolize"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

var _ value.Namer = (*session)(nil)

// FramesAt names the frames at an address of a stack: with show_debug_info one for
// each function that is inlined there, and one for the function that has the symbol.
func (s *session) FramesAt(st *value.Stack, i int, d value.Depth, frame *value.Frame, f func(*value.Frame)) {
	called := i > 0 // the address is behind the call of another frame
	addr := frame.Addr
	if st.User && (st.Mode == types.StackBuildID || d == value.All) {
		if id, offset, ok := s.userSymbols().BuildID(st.PID, addr); ok {
			frame.BuildID, frame.FileOffset = hex.EncodeToString(id[:]), offset
		}
	}
	if d == value.ForText && (st.Mode == types.StackRaw || st.Mode == types.StackBuildID) {
		f(frame)
		return
	}
	var ok bool
	if st.User {
		frame.Func, frame.Offset, frame.Module, ok = s.userFunction(st, i)
	} else {
		sym := s.kernelSymbols().Symbol(addr)
		frame.Func, frame.Offset, frame.Module, ok = sym.Name, sym.Offset, sym.Module, sym.OK
	}
	at := addr
	if called && frame.Offset != 0 {
		at-- // in the call: what follows may be of another line
	}
	// Code in the room before a function never calls: the one before it has, as its last act.
	if d == value.All && called && ok && !st.User && frame.Offset == 0 && strings.HasPrefix(frame.Func, "__pfx_") {
		if sym := s.kernelSymbols().Symbol(at - 1); sym.OK {
			frame.Caller = sym.Name
		}
	}
	if !ok {
		frame.Func, frame.Offset = "", 0 // where in the file, if that alone is known
	}
	if !s.o.Config.ShowDebugInfo {
		f(frame)
		return
	}
	var src symbolize.Source
	if st.User {
		src, _ = s.userSymbols().Source(st.PID, at)
	} else {
		src, _ = s.kernelSymbols().Source(at)
	}
	// f may change the frame that it is given, and the last one is that of the whole function.
	whole := *frame
	for _, i := range src.Inlined {
		frame.Func, frame.Offset, frame.File, frame.Line, frame.Inlined = i.Name, 0, i.At.File, int(i.At.Line), true
		f(frame)
	}
	*frame = whole
	frame.File, frame.Line = src.At.File, int(src.At.Line)
	f(frame)
}

// userFunction is the function that address i of a user stack is in, with the distance from its start.
// A call that never returns may be the end of a function: the address behind it, where the call would
// return to, is that of the next function or of none.
func (s *session) userFunction(st *value.Stack, i int) (name string, offset uint64, module string, ok bool) {
	addr := st.Addrs[i]
	name, offset, module, ok = s.userSymbol(st.PID, addr)
	if i == 0 || ok && offset != 0 {
		return name, offset, module, ok
	}
	// Code that ends a signal's handler is returned to at its start, and what the signal interrupted
	// stands behind it.
	if i > 1 {
		if _, before, _, found := s.userFunction(st, i-1); found && before == 0 {
			return name, offset, module, ok
		}
	}
	if caller, at, its, found := s.userSymbol(st.PID, addr-1); found {
		return caller, at + 1, its, true
	}
	return name, offset, module, ok
}

// Truncated reports whether a stack was not followed to its end, or may be wrong.
func (s *session) Truncated(st *value.Stack) bool {
	return st.Broken || st.Doubtful && s.doubtful(st.PID, st.Addrs)
}

// Lines are kept until a map is printed.
func (s *session) Lines() *value.Lines { return &s.lines }

// Pool is of all stacks of a run.
func (s *session) Pool() *value.Pool { return &s.pool }

// appendInlined appends a function that was inlined, with its place.
func (s *session) appendInlined(dst []byte, i dwarf.Inlined) []byte {
	return s.appendPosition(append(append(dst, "[inlined] "...), s.name(i.Name)...), i.At)
}

// name is a name of a traced program as it may stand in a line of its own.
func (s *session) name(text string) string {
	if s.Escapes().Output {
		return value.Escape(text)
	}
	return text
}

// appendPosition adds a place in the source behind a name, nothing if there is
// none.
func (s *session) appendPosition(dst []byte, p dwarf.Position) []byte {
	if p.File == "" || p.Line == 0 {
		return dst
	}
	dst = append(append(append(dst, '@'), s.name(p.File)...), ':')
	return strconv.AppendInt(dst, int64(p.Line), 10)
}

// UserName is the text of an address of a process: the symbol that it is in, and
// with show_debug_info the place in the source, of the innermost function that
// is inlined there if any is.
func (s *session) UserName(pid int, addr uint64) (text string, ok bool) {
	name, _, _, ok := s.userSymbol(pid, addr)
	if !s.o.Config.ShowDebugInfo || !ok {
		return name, ok
	}
	src, _ := s.userSymbols().Source(pid, addr)
	if len(src.Inlined) > 0 {
		return string(s.appendInlined(nil, src.Inlined[0])), true
	}
	return string(s.appendPosition([]byte(name), src.At)), true
}
