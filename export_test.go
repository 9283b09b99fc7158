package hawk

import "github.com/hawktrace/hawk/internal/aot"

// Payload is what is inside of a portable program as it is written.
func (p *Program) Payload() []byte { return p.payload }

// Sealed is a payload as a forger writes it, with a digest that fits.
func Sealed(payload []byte) []byte { return aot.Seal("", payload) }
