package view

import (
	"sync"
	"time"
)

// Bounds of the time between two looks at maps.
const (
	longestPeriod = 30 * time.Second // for the sake of what a look costs
	quietPeriod   = 4 * time.Second  // while nothing happens
	quietLooks    = 10               // that found nothing, before the period grows
)

// The first looks of who wants many in a short run: a run of a second has 25, one of ten
// seconds 70.
const (
	finePeriod = 20 * time.Millisecond
	fineGrowth = 1.05
)

// DefaultBudget is the part of a processor that looking may take, in percent.
const DefaultBudget = 1.0

// A Cadence decides how often maps are read: as often as was asked for, but for no more
// of a processor than the budget allows, and seldom while nothing happens or nobody watches. Its methods
// may be called from any goroutine.
type Cadence struct {
	mu     sync.Mutex
	every  time.Duration
	first  time.Duration // instead of every, and longer from look to look; 0: not
	budget float64       // a part of a processor
	period time.Duration // the last that was chosen
	before time.Duration // that the look before the last has cost
	spent  time.Duration // by who shows what was read, since the last look
	quiet  int           // looks in a row that found nothing new
	load   float64       // a part of a processor that was spent
	seldom bool          // while nobody watches
	eyes   int           // how many watch
	asked  chan struct{}
}

// NewCadence makes one that reads at an interval and spends some percent of a processor.
func NewCadence(every time.Duration, percent float64) *Cadence {
	return &Cadence{every: every, period: every, budget: percent / 100, asked: make(chan struct{}, 1)}
}

// Fine has the first looks come sooner than the interval says.
func (c *Cadence) Fine() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.first = finePeriod
}

// Next is the time to the next look, after one that took some time of a processor.
func (c *Cadence) Next(cost time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	cost += c.spent
	c.spent = 0
	c.load = float64(cost) / float64(max(c.period, c.every))
	if c.period = c.every; c.first > 0 && c.first < c.every {
		c.period = c.first
		c.first = time.Duration(float64(c.first) * fineGrowth)
	}
	usual := min(cost, c.before) // one that was dear, as tables of symbols had to be read, is no rule
	if c.before = cost; c.budget > 0 {
		dear := time.Duration(min(float64(usual)/c.budget, float64(longestPeriod)))
		c.period = max(c.period, dear)
	}
	for n := quietLooks; n <= c.quiet && c.period < quietPeriod; n++ {
		c.period = min(2*c.period, quietPeriod)
	}
	if c.seldom && c.eyes == 0 {
		c.period = max(c.period, quietPeriod)
	}
	return c.period
}

// Seldom has maps read only for the sake of history while nobody watches.
func (c *Cadence) Seldom() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seldom = true
}

// Watch says that one more watches, who is shown the maps as they are now. The returned function ends it.
func (c *Cadence) Watch() (leave func()) {
	eyes := func(n int) {
		c.mu.Lock()
		c.eyes += n
		c.mu.Unlock()
	}
	eyes(1)
	c.Ask()
	return func() { eyes(-1) }
}

// Found says whether the last look found anything new.
func (c *Cadence) Found(news bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.quiet++; news {
		c.quiet = 0
	}
}

// Spent adds what showing the last look has cost.
func (c *Cadence) Spent(cost time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spent += cost
}

// Set changes the interval that is asked for.
func (c *Cadence) Set(every time.Duration) {
	c.mu.Lock()
	c.every, c.quiet = every, 0
	c.mu.Unlock()
	c.Ask()
}

// Ask has maps read at once.
func (c *Cadence) Ask() {
	select {
	case c.asked <- struct{}{}:
	default:
	}
}

// Asked is ready when maps are to be read at once.
func (c *Cadence) Asked() <-chan struct{} { return c.asked }

// Now is the interval asked for, the time that really passes between two looks, and the
// part of a processor that they take.
func (c *Cadence) Now() (every, period time.Duration, load float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.every, c.period, c.load
}
