package main

import (
	"fmt"
	"path/filepath"
)

const mapKeys = 1_000_000

// maps measures the print of a large map: runs that print it less runs that do not.
func bigMaps(b *bench) ([]row, error) {
	var rows []row
	for _, c := range []struct{ name, value string }{
		{"`@[i] = i`", "$i"},
		{"`@[i] = count()`", "count()"},
	} {
		got, err := b.interleave(min(b.rounds, 5), func(t *tool) ([]float64, error) {
			var took [2]float64
			for prints := range took {
				script := fmt.Sprintf("config = { max_map_keys = %d; print_maps_on_exit = %t } begin { for $i : "+
					"0..%d { @[$i] = %s; } }", mapKeys, prints == 1, mapKeys, c.value)
				d, err := t.whole("-o", filepath.Join(b.dir, "out"), "-e", script)
				if err != nil {
					return nil, err
				}
				took[prints] = milliseconds(d)
			}
			return []float64{took[1] - took[0]}, nil
		})
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{c.name, "ms", got[0]})
	}
	return rows, nil
}
