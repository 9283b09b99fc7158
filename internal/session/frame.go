package session

import (
	"encoding/hex"
	"strconv"

	"github.com/hawktrace/hawk/internal/dwarf"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/symbolize"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

// appendFrame adds the lines of a frame: with show_debug_info one for each
// function that is inlined there, and one for the function that has the symbol.
// called says that the address is behind the call of another frame.
func (s *session) appendFrame(dst []byte, t *types.Stack, pid int, addr uint64, called bool) []byte {
	if t.Mode == types.StackBuildID {
		if id, offset, ok := s.userSymbols().BuildID(pid, addr); ok {
			dst = append(hex.AppendEncode(dst, id[:]), " 0x"...)
			return append(strconv.AppendUint(dst, offset, 16), '\n')
		}
	}
	if t.Mode == types.StackRaw || t.Mode == types.StackBuildID {
		return append(strconv.AppendUint(dst, addr, 16), '\n')
	}
	var name, module string
	var offset uint64
	var ok bool
	if t.User {
		name, offset, module, ok = s.userSymbol(pid, addr)
	} else {
		name, offset, ok = s.KernelSymbol(addr)
	}
	perf := t.Mode == types.StackPerf
	begin := func() {
		if !perf {
			dst = append(dst, "        "...)
			return
		}
		dst = append(dst, '\t')
		dst = strconv.AppendUint(dst, addr, 16)
		dst = append(dst, ' ')
	}
	var src symbolize.Source
	if s.o.Config.ShowDebugInfo {
		at := addr
		if called && offset != 0 {
			at-- // in the call: what follows may be of another line
		}
		if t.User {
			src, _ = s.userSymbols().Source(pid, at)
		} else {
			src, _ = s.kernelSymbols().Source(at)
		}
	}
	for _, i := range src.Inlined {
		begin()
		if perf {
			dst = append(append(dst, s.name(i.Name)...), " (inlined)\n"...)
		} else {
			dst = append(s.appendInlined(dst, i), '\n')
		}
	}
	begin()
	if ok {
		dst = append(dst, s.name(name)...)
		dst = append(dst, '+')
		dst = strconv.AppendUint(dst, offset, 10)
	} else {
		dst = append(dst, "0x"...)
		dst = strconv.AppendUint(dst, addr, 16)
	}
	if !perf {
		dst = s.appendPosition(dst, src.At)
	} else if t.User {
		if !ok {
			module = "[unknown]" // even if the file is known, as the reference
		}
		dst = append(append(append(dst, " ("...), s.name(module)...), ')')
	}
	return append(dst, '\n')
}

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

// badDebugInfo warns of debug information that cannot be used.
func (s *session) badDebugInfo(err error) {
	s.Emit(output.Message{Severity: source.Warning, Text: err.Error()})
}
