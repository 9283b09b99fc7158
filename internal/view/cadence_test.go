package view

import (
	"testing"
	"time"
)

func TestCadence(t *testing.T) {
	c := NewCadence(500*time.Millisecond, 1)
	for _, tt := range []struct{ cost, want time.Duration }{
		{0, 500 * time.Millisecond},
		{time.Millisecond, 500 * time.Millisecond},
		{20 * time.Millisecond, 500 * time.Millisecond}, // once is nothing
		{20 * time.Millisecond, 2 * time.Second},        // one percent
		{time.Hour, 2 * time.Second},
		{time.Hour, 30 * time.Second},
		{time.Millisecond, 500 * time.Millisecond},
	} {
		if got := c.Next(tt.cost); got != tt.want {
			t.Errorf("after a look of %v the next comes after %v, want %v", tt.cost, got, tt.want)
		}
	}
	c.Next(10 * time.Millisecond)
	c.Spent(6 * time.Millisecond) // drawing counts, once
	if got := c.Next(4 * time.Millisecond); got != time.Second {
		t.Errorf("with 10 ms spent: %v", got)
	}
	if _, _, load := c.Now(); load != 10.0/510 {
		t.Errorf("load is %v of half a second and the look itself", load)
	}
	if got := c.Next(4 * time.Millisecond); got != 500*time.Millisecond {
		t.Errorf("spent is counted twice: %v", got)
	}
}

func TestCadenceOfNothing(t *testing.T) {
	c := NewCadence(time.Second, 1)
	for range 9 {
		c.Found(false)
	}
	for i, want := range []time.Duration{1, 2, 4, 4} {
		if got := c.Next(0); got != want*time.Second {
			t.Errorf("%d looks without news: %v, want %v s", 9+i, got, want)
		}
		c.Found(false)
	}
	c.Found(true)
	if got := c.Next(0); got != time.Second {
		t.Errorf("after news: %v", got)
	}
	slow := NewCadence(10*time.Second, 1)
	for range 100 {
		slow.Found(false)
	}
	if got := slow.Next(0); got != 10*time.Second {
		t.Errorf("a long interval became %v", got)
	}
	c.Set(time.Minute)
	select {
	case <-c.Asked():
	default:
		t.Error("a new interval waits for the old one")
	}
}

// A short run is looked at often, a long one no more than was asked for.
func TestCadenceFine(t *testing.T) {
	c := NewCadence(500*time.Millisecond, 1)
	c.Fine()
	looks, second := 0, 0
	for since := time.Duration(0); since < 10*time.Second; looks++ {
		since += c.Next(0)
		if since < time.Second {
			second++
		}
	}
	if second < 20 || looks > 80 {
		t.Errorf("%d looks in the first second, %d in ten", second, looks)
	}
	if got := c.Next(0); got != 500*time.Millisecond {
		t.Errorf("then every %v", got)
	}
	c = NewCadence(500*time.Millisecond, 1)
	c.Fine()
	c.Next(10 * time.Millisecond)
	if got := c.Next(10 * time.Millisecond); got != time.Second {
		t.Errorf("looks of 10 ms come every %v, whatever they cost", got)
	}
}

// Maps that nobody watches are read for history alone; who comes is shown them at once.
func TestCadenceSeldom(t *testing.T) {
	c := NewCadence(500*time.Millisecond, 1)
	if got := c.Next(0); got != 500*time.Millisecond {
		t.Errorf("every %v, whether or not somebody watches", got)
	}
	c.Seldom()
	if got := c.Next(0); got != quietPeriod {
		t.Errorf("every %v while nobody watches", got)
	}
	leave := c.Watch()
	select {
	case <-c.Asked():
	default:
		t.Error("who begins to watch waits")
	}
	if got := c.Next(0); got != 500*time.Millisecond {
		t.Errorf("every %v for one who watches", got)
	}
	other := c.Watch()
	leave()
	if got := c.Next(0); got != 500*time.Millisecond {
		t.Errorf("every %v when one of two leaves", got)
	}
	other()
	if got := c.Next(0); got != quietPeriod {
		t.Errorf("every %v when all have left", got)
	}
}

// A map that is dear to read is read less often, and no other map waits for it. Together they stay within the budget.
func TestCadenceTurns(t *testing.T) {
	const cheap, dear = 0, 1
	c := NewCadence(500*time.Millisecond, 1)
	costs := [...]time.Duration{cheap: 500 * time.Microsecond, dear: 60 * time.Millisecond}
	looks := [len(costs)]int{}
	now, spent := time.Duration(0), time.Duration(0)
	for now < time.Minute {
		cost, before := time.Duration(0), looks[dear]
		for n := range costs {
			if c.Due(n, now) {
				looks[n]++
				cost += costs[n]
				c.Took(n, costs[n], now)
			}
		}
		spent += cost
		now += c.Next(cost)
		draw := time.Millisecond
		if looks[dear] > before { // what is new of it is drawn
			draw = 40 * time.Millisecond
			c.SpentOnStacks(20 * time.Millisecond)
			spent += 20 * time.Millisecond
		}
		c.Spent(draw)
		spent += draw
	}
	if looks[cheap] < 110 || looks[dear] < 5 || looks[dear] > 9 {
		t.Errorf("in a minute %d looks at the cheap map, and %d at the dear one", looks[cheap], looks[dear])
	}
	if most := now/100 + 5*costs[dear]; spent > most { // the first looks tell what they cost
		t.Errorf("%v were spent in %v", spent, now)
	}
	if _, period, load := c.Now(); period != 500*time.Millisecond || load < 0.005 || load > 0.0125 {
		t.Errorf("every %v, and the load is %v", period, load)
	}
	if got := c.Slowest(); got < 10*time.Second || got > 15*time.Second {
		t.Errorf("the dear map is read every %v", got)
	}
	// Maps that cost the same are read together, and so is one alone.
	for maps := 1; maps <= 3; maps++ {
		c := NewCadence(500*time.Millisecond, 1)
		for range 3 {
			for n := range maps {
				if !c.Due(n, 0) {
					t.Errorf("map %d of %d is not read with the others", n, maps)
				}
				c.Took(n, 60*time.Millisecond, 0)
			}
			c.Next(time.Duration(maps) * 60 * time.Millisecond)
		}
		if got, want := c.Slowest(), time.Duration(maps)*6*time.Second; got != want {
			t.Errorf("%d maps are read every %v, want %v", maps, got, want)
		}
	}
}

// TestLoadOfLongLook: a look that takes longer than the period is no more than all of a processor.
func TestLoadOfLongLook(t *testing.T) {
	c := NewCadence(500*time.Millisecond, DefaultBudget)
	c.Next(0)
	c.Next(1500 * time.Millisecond)
	if _, _, load := c.Now(); load != 0.75 {
		t.Errorf("a look of 1.5 s after half a second takes %.2f of a processor", load)
	}
}
