package hawk

import (
	"fmt"

	"github.com/hawktrace/hawk/internal/aot"
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
