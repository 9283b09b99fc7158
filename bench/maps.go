package main

import (
	"fmt"
	"path/filepath"
	"strings"
)

// mapKeys is so many that the print takes a multiple of what the start and the filling vary by.
const mapKeys = 1_000_000

// bigMaps measures the print of a large map: runs that print it less runs that do not, and the peak
// of memory of one that prints it.
func bigMaps(b *bench) ([]row, error) {
	var rows []row
	for _, c := range []struct{ key, value string }{
		{"$i", "$i"},
		{"$i", "count()"},
		{"$i", "avg($i)"},
		{"$i", "hist($i)"},
		{"$i, comm", "$i"},
	} {
		update := fmt.Sprintf("@[%s] = %s", c.key, c.value)
		name := "`" + strings.ReplaceAll(update, "$", "") + "`"
		got, err := b.interleave(min(b.rounds, 5), func(t *tool) ([]float64, error) {
			var took [2]float64
			var script string
			// Both runs fill the map: the difference is the print. The last script is the one
			// that prints, whose peak of memory is asked for below.
			for prints := range took {
				script = fmt.Sprintf("config = { max_map_keys = %d; print_maps_on_exit = %t } begin { for $i : "+
					"0..%d { %s; } }", mapKeys, prints == 1, mapKeys, update)
				d, err := t.whole("-o", filepath.Join(b.dir, "out"), "-e", script)
				if err != nil {
					return nil, err
				}
				took[prints] = milliseconds(d)
			}
			peak, err := t.peak("-e", script)
			return []float64{took[1] - took[0], float64(peak) / (1 << 20)}, err
		})
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{name, "ms", got[0]}, row{name + ", peak memory", "MB", got[1]})
	}
	return rows, nil
}
