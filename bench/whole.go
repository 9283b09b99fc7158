package main

import (
	"fmt"
	"os"
)

// A wholeRun is a measurement of a run from exec to exit; it is left out where the machine cannot do it.
type wholeRun struct {
	name string
	args []string
	able func() bool
}

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
