package load

import (
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/codegen"
	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/object"
)

// A program that the verifier accepts may still be too much for the compiler
// of the kernel, see codegen.Arrange. A kernel without an interpreter refuses
// it then, others interpret it, unless it calls what only machine code can.

// notCompiled reports whether the kernel did not make machine code of a
// program, by what came of loading it.
func notCompiled(fd int, log string, err error) bool {
	if err == nil {
		return !bpf.Compiled(fd) && compiles()
	}
	return errors.Is(err, errno.NotSupported) || strings.Contains(log, "in non-JITed programs")
}

// compiles reports whether the kernel is said to compile programs.
var compiles = sync.OnceValue(func() bool {
	b, err := os.ReadFile("/proc/sys/net/core/bpf_jit_enable")
	return err == nil && strings.TrimSpace(string(b)) != "0"
})

// compiled takes what came of loading a program, a descriptor or an error with
// the verifier's log. Where the kernel did not compile it, the program is loaded
// in the first arrangement that it compiles, if there is one.
func (s *Session) compiled(spec *bpf.ProgSpec, p *object.Program, fd int, log string, err error) (int, error) {
	if !notCompiled(fd, log, err) {
		return fd, err
	}
	// The first result, good or bad, is what counts if no arrangement does better.
	linked, fault := s.link(p)
	if fault != nil {
		return fd, err
	}
	for n := range codegen.Arrangements {
		other, fault := arranged(spec, linked, n)
		if fault != nil {
			break
		}
		again, failed := bpf.ProgLoad(other)
		// Another order may suit the compiler still.
		if failed != nil {
			continue
		}
		if bpf.Compiled(again) {
			if err == nil {
				unix.Close(fd)
			}
			return again, nil
		}
		unix.Close(again)
	}
	return fd, err
}

// arranged describes a program with its code in another order.
func arranged(spec *bpf.ProgSpec, linked *codegen.Code, n int) (*bpf.ProgSpec, error) {
	a, err := linked.Arrange(n)
	if err != nil {
		return nil, err
	}
	other := *spec
	if other.Insns, err = a.Code.Marshal(); err != nil {
		return nil, err
	}
	// The verifier has nothing new to say; a log would cost as much again.
	other.LogLevel, other.Log, other.FuncInfo, other.LineInfo = 0, nil, nil, nil
	for i, f := range a.Code.Funcs {
		typ := binary.NativeEndian.Uint32(spec.FuncInfo[i*bpf.FuncInfoBytes+4:])
		other.FuncInfo = words(other.FuncInfo, uint32(f.Slot), typ)
	}
	other.LineInfo = moveLines(spec.LineInfo, a)
	return &other, nil
}

// moveLines is the line info of code in another order.
func moveLines(lines []byte, a *codegen.Arranged) []byte {
	starts := map[int]bool{}
	for _, f := range a.Code.Funcs {
		starts[f.Slot] = true
	}
	line := make([]int, 0, len(a.Slots)) // by slot as it was: the record that it belongs to
	for i := 0; i < len(lines)/bpf.LineInfoBytes; i++ {
		from := int(binary.NativeEndian.Uint32(lines[i*bpf.LineInfoBytes:]))
		for len(line) < from {
			line = append(line, max(i-1, 0))
		}
	}
	last := len(lines)/bpf.LineInfoBytes - 1
	at := func(slot int) int {
		if slot < len(line) {
			return line[slot]
		}
		return last
	}
	var out []byte
	for slot, was := range a.Slots {
		n := at(was)
		if n < 0 || slot > 0 && !starts[slot] && at(a.Slots[slot-1]) == n {
			continue
		}
		out = append(words(out, uint32(slot)), lines[n*bpf.LineInfoBytes+4:(n+1)*bpf.LineInfoBytes]...)
	}
	return out
}
