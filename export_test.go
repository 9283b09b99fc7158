package hawk

import (
	"fmt"
	"slices"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/aot"
	"github.com/hawktrace/hawk/internal/session"
)

// Payload is what is inside of a portable program as it is written.
func (p *Program) Payload() []byte { return p.payload }

// Sealed is a payload as a forger writes it, with a digest that fits.
func Sealed(payload []byte) []byte { return aot.Seal("", payload) }

// Instructions are those of all programs, as text.
func (p *Program) Instructions() (out []string) {
	for _, prog := range p.res.Object.Programs {
		for _, in := range prog.Code.Insns {
			out = append(out, fmt.Sprintf("%#v", in))
		}
	}
	return out
}

// Spoilt is the program with code that no verifier takes.
func (p *Program) Spoilt() *Program {
	res, obj := *p.res, *p.res.Object
	prog := *obj.Programs[0]
	code := *prog.Code
	code.Insns = slices.Clone(code.Insns)
	first := &code.Insns[0]
	*first = asm.LoadMem(asm.R0, asm.R9, 0, asm.DWord).WithMetadata(first.Metadata)
	prog.Code = &code
	obj.Programs = slices.Clone(obj.Programs)
	obj.Programs[0] = &prog
	res.Object = &obj
	spoilt := *p
	spoilt.res, spoilt.prog = &res, session.New(&res)
	return &spoilt
}
