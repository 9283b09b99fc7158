package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/hawktrace/hawk/internal/value"
)

// An Item is one thing that a run says to those who watch it. The concrete types are
// below: values, which stay as they are once they were handed out.
type Item interface{ item() }

type (
	// Begin comes first, before a probe is attached.
	Begin struct {
		Script  *Script
		Boot    time.Duration // the boot clock
		Wall    time.Time
		PID     int    // of what is traced alone, 0: everything
		Command string // that hawk runs, "" if none
	}
	// Attached says how many probes are attached, and how many could not be.
	Attached struct{ Probes, Failed int }
	// Snapshot is what a map held.
	Snapshot struct {
		Map        *Map
		Seq        uint64        // of the snapshots of this map, from 1
		Start, End time.Duration // of reading, by the boot clock
		Rows       Rows
		Now        Rows // what the map holds, where Rows are totals and somebody wants to know
		Totals     bool // of the whole run, whatever the script cleared
		Complete   bool // nothing went wrong on the way
		Refused    Refused
		// Left are rows that were left out, of looks that are kept. Rest is what they count in all, and Others what
		// they come to, nil if values of the map do not add up.
		Left   int
		Rest   int64
		Others value.Value
	}
	// Refreshed says that all maps were read.
	Refreshed struct{ Boot time.Duration }
	// Asleep says that nobody looked for a while: the machine slept or, if Stopped, hawk did, and what
	// happened meanwhile comes with the next look.
	Asleep struct {
		From, Boot time.Duration
		Stopped    bool
	}
	// Idle says that the run has caught up with what came: what is due is written out.
	Idle struct{}
	// Mark is print of a map: what it held then.
	Mark struct {
		Map      *Map
		Boot     time.Duration
		Rows     Rows  // before Top and Div
		Top, Div int64 // 0: all, 1
		AtEnd    bool  // the map is shown because the run is over
	}
	// Cleared says that a map was emptied, or reset.
	Cleared struct {
		Map  *Map
		Boot time.Duration
		Zero bool // the keys stay
	}
	// Event is what one place of the script emitted once.
	Event struct {
		Site *Site // nil for text of hawk's own
		Boot time.Duration
		Text []byte        // as it is printed
		Args []value.Value // as Site.Args
		// Stamped: Boot is when a program sent it, on that processor, for that thread. Else
		// Boot is when it arrived.
		Stamped       bool
		CPU, PID, TID int
	}
	// Loss is what was lost so far, in all.
	Loss struct {
		Records uint64 // that found no room
		Skipped uint64 // events that the kernel ran no program for
		Strings uint64 // of user memory that could not be read
		Boot    time.Duration
	}
	// End is the end of the run, after all else.
	End struct {
		Status int
		Cause  string // exit, signal, cancelled, target, budget or finished
		Boot   time.Duration
		Loss   Loss
	}
)

// A Row is an element of a map.
type Row struct {
	Key   value.Value // nil: the map has no keys
	Value value.Value
	// Others: the row stands for many, whose totals were too small to be kept apart.
	Others int32
	// AtLeast: some of a total went unseen, as a program deleted the element.
	AtLeast bool
}

// Refused is what the kernel did not take into a map so far, since it was full or for another reason.
type Refused struct {
	Updates        uint64
	Full           bool // was the reason the last time
	Held, Capacity int  // elements, if there were such updates
}

// String says it in words, "" if nothing was refused.
func (r Refused) String() string {
	if r.Updates == 0 {
		return ""
	}
	out := Grouped(r.Updates) + " updates refused"
	if r.Updates == 1 {
		out = "1 update refused"
	}
	if !r.Full {
		return out
	}
	out = fmt.Sprintf("full: %s of %s, ", Grouped(r.Held), Grouped(r.Capacity)) + out
	if r.Held < r.Capacity {
		out = "was " + out
	}
	return out
}

func (Begin) item()     {}
func (Attached) item()  {}
func (Snapshot) item()  {}
func (Refreshed) item() {}
func (Asleep) item()    {}
func (Idle) item()      {}
func (Mark) item()      {}
func (Cleared) item()   {}
func (Event) item()     {}
func (Loss) item()      {}
func (End) item()       {}

// A Feed takes the items of a run. Marks, Cleared and Events come in the order of the
// records; Snapshots and Refreshed may come from another goroutine at the same time.
// An error ends the run.
type Feed interface{ Take(Item) error }

// Needs is what those who take a feed want of a run, said before it begins.
type Needs struct {
	Totals bool // of additive maps, over the whole run
	Now    bool // beside totals, what maps hold
	Events bool // with their arguments
	// Every is how often maps are read, by a goroutine of its own; 0: at the end.
	Every time.Duration
	// Fine has the first looks come sooner than Every: a short run has many, too.
	Fine bool
	// Cadence says how often, instead of Every and the budget that goes with it.
	Cadence *Cadence
	// Maps are those that are read; nil: all.
	Maps []*Map
}

// Said is the text of an event for people: without the end of its line, behind how severe it is.
func (e *Event) Said() string {
	text := strings.TrimRight(string(e.Text), "\n")
	if s := e.Site.Severity(); s != "" {
		text = s + ": " + text
	}
	return text
}
