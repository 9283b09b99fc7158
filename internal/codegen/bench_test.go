package codegen_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hawktrace/hawk/internal/codegen"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/ir/irgen"
	"github.com/hawktrace/hawk/internal/opt"
)

// BenchmarkCompile is IR to bytes: compile-ns/op leaves out what parsing the
// IR text takes.
func BenchmarkCompile(b *testing.B) {
	for _, size := range []int{5, 50, 500, 3000} {
		r := rand.New(rand.NewPCG(7, 7))
		p := irgen.Program(r, irgen.Options{Statements: size})
		text := p.String()
		slots := 0
		b.Run(sizeName(size), func(b *testing.B) {
			var spent time.Duration
			n := 0
			for b.Loop() {
				p, err := ir.Parse(text)
				if err != nil {
					b.Fatal(err)
				}
				start := time.Now()
				if _, err := opt.Run(p, opt.Options{ScratchMap: 1, ScratchSlots: 2}); err != nil {
					b.Fatal(err)
				}
				c, err := codegen.Generate(p, codegen.Options{})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := c.Marshal(); err != nil {
					b.Fatal(err)
				}
				spent += time.Since(start)
				n++
				slots = c.Slots()
			}
			b.ReportMetric(float64(spent.Nanoseconds())/float64(n), "compile-ns/op")
			b.ReportMetric(float64(slots), "slots")
		})
	}
}

func sizeName(n int) string {
	return map[int]string{5: "tiny", 50: "small", 500: "medium", 3000: "large"}[n]
}
