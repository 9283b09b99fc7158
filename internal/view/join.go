package view

import (
	"slices"
	"time"
)

// Join adds what another one wants.
func (n *Needs) Join(other Needs) {
	n.Totals, n.Now, n.Events = n.Totals || other.Totals, n.Now || other.Now, n.Events || other.Events
	n.Every, n.Fine = sooner(n.Every, other.Every), n.Fine || other.Fine
	if n.Cadence == nil {
		n.Cadence = other.Cadence
	}
	if n.Maps == nil || other.Maps == nil {
		n.Maps = nil
		return
	}
	for _, m := range other.Maps {
		if !slices.Contains(n.Maps, m) {
			n.Maps = append(n.Maps, m)
		}
	}
}

// sooner is the shorter of two periods, of which 0 is none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// Feeds pass each item on, in their order. The first error is that of all.
type Feeds []Feed

// Take passes an item on.
func (f Feeds) Take(item Item) error {
	for _, one := range f {
		if err := one.Take(item); err != nil {
			return err
		}
	}
	return nil
}
