package view

import (
	"errors"
	"slices"
	"testing"
	"time"
)

func TestJoin(t *testing.T) {
	a, b, c := &Map{Name: "@a"}, &Map{Name: "@b"}, &Map{Name: "@c"}
	n := Needs{Maps: []*Map{a, b}, Every: time.Second}
	n.Join(Needs{Maps: []*Map{b, c}, Totals: true})
	if !slices.Equal(n.Maps, []*Map{a, b, c}) || !n.Totals || n.Events || n.Every != time.Second {
		t.Errorf("%+v", n)
	}
	n.Join(Needs{Maps: []*Map{}, Events: true, Every: time.Minute})
	if len(n.Maps) != 3 || !n.Events || n.Every != time.Second {
		t.Errorf("%+v", n)
	}
	n.Join(Needs{Every: time.Millisecond})
	if n.Maps != nil || n.Every != time.Millisecond {
		t.Errorf("%+v", n)
	}
	n.Join(Needs{Maps: []*Map{a}})
	if n.Maps != nil {
		t.Errorf("%+v: all is more than some", n)
	}
}

// A taker counts, and fails if it is told to.
type taker struct {
	n    int
	fail error
}

func (k *taker) Take(Item) error { k.n++; return k.fail }

func TestFeeds(t *testing.T) {
	broken := errors.New("broken")
	first, second, third := &taker{}, &taker{fail: broken}, &taker{}
	if err := (Feeds{first, second, third}).Take(Idle{}); err != broken {
		t.Errorf("%v", err)
	}
	if first.n != 1 || second.n != 1 || third.n != 0 {
		t.Errorf("%d %d %d", first.n, second.n, third.n)
	}
}
