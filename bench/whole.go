package main

import (
	"fmt"
	"os"
)

// A wholeRun is a measurement of a run from exec to exit; it is left out where the machine
// cannot do it. able is asked when its turn comes, and a line says what was left out.
type wholeRun struct {
	name string
	args []string
	able func() bool
}

// always is for runs that need nothing but what the whole bench needs.
func always() bool { return true }

// runs measures each that this machine is able to.
func (b *bench) runs(all []wholeRun) ([]row, error) {
	var rows []row
	for _, r := range all {
		if !r.able() {
			fmt.Fprintf(os.Stderr, "bench: this machine cannot do %s\n", r.name)
			continue
		}
		got, err := b.interleave(min(b.rounds, 5), func(t *tool) ([]float64, error) {
			took, err := t.whole(r.args...)
			return []float64{milliseconds(took)}, err
		})
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{r.name, "ms", got[0]})
	}
	return rows, nil
}
