package view

import (
	"cmp"
	"sync"
	"time"

	"github.com/hawktrace/hawk/internal/order"
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
	turns  []turn        // of maps, by their numbers
	dear   time.Duration // between two looks at maps that are dear; 0: there is none
	drawn  time.Duration // by who shows what was read, after a look at these
	stacks time.Duration // for names of stacks, since the last look
	shown  bool          // such a look was the last
	asked  chan struct{}
}

// A turn is when a map is read, and what that costs.
type turn struct {
	cost, before time.Duration // of the last look and the one before
	read         time.Duration // when that was, by the boot clock
	fresh        bool          // it was in this look
	dear         bool          // it is read less often than others
}

// usual is what a look costs: one that was dear, as tables of symbols had to be read, is no rule.
func (t *turn) usual() time.Duration { return min(t.cost, t.before) }

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
	if c.shown {
		c.drawn, c.spent = c.spent, 0
	}
	if c.dear > 0 { // stacks are what is dear
		c.drawn += c.stacks
	} else {
		c.spent += c.stacks
	}
	c.stacks = 0
	was := c.dear
	cost += c.spent - c.share()
	if c.spent = 0; was == 0 && c.dear > 0 {
		c.before = 0 // with what does not count any more
	}
	// The time that a look took is none of the period, which began when it ended.
	c.load = float64(cost) / float64(max(c.period, c.every)+cost)
	for i := range c.turns {
		if t := &c.turns[i]; t.dear {
			c.load += float64(t.usual()) / float64(c.dear)
		}
	}
	if c.dear > 0 {
		c.load += float64(c.drawn) / float64(c.dear)
	}
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

// share has maps wait that are so dear that all others would wait for them: who looks at a table of ten keys does not
// wait for a thousand stacks. It returns what they have cost in this look.
func (c *Cadence) share() (cost time.Duration) {
	turns := make([]*turn, len(c.turns))
	for i := range c.turns {
		turns[i] = &c.turns[i]
		turns[i].dear = false
	}
	order.By(turns, func(a, b *turn) int { return cmp.Compare(a.usual(), b.usual()) })
	most := c.budget * float64(c.every) / 2 // that others take
	cheap, dear := 0.0, 0.0
	for _, t := range turns {
		if usual := float64(t.usual()); dear > 0 || cheap+usual > most {
			dear += usual
			t.dear = true
		} else {
			cheap += usual
		}
	}
	c.dear, c.shown = 0, false
	if most <= 0 || dear == 0 || turns[0].dear { // all are alike
		for _, t := range turns {
			t.dear, t.fresh = false, false
		}
		return 0
	}
	dear += float64(c.drawn)
	c.dear = time.Duration(min(dear/(c.budget-cheap/float64(c.every)), float64(longestPeriod)))
	for _, t := range turns {
		if t.dear && t.fresh {
			cost += t.cost
			c.shown = true
		}
		t.fresh = false
	}
	return cost
}

// Due reports whether a map is read in the look that is taken now.
func (c *Cadence) Due(n int, now time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return n >= len(c.turns) || !c.turns[n].dear || now-c.turns[n].read >= c.dear
}

// Took says that a map was read, and what that cost.
func (c *Cadence) Took(n int, cost, now time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.turns) <= n {
		c.turns = append(c.turns, turn{})
	}
	t := &c.turns[n]
	t.before, t.cost, t.read, t.fresh = t.cost, cost, now, true
}

// Slowest is the time between two looks at the maps that are read least often.
func (c *Cadence) Slowest() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(c.dear, c.period)
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

// SpentOnStacks adds what the names of their functions have cost.
func (c *Cadence) SpentOnStacks(cost time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stacks += cost
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
