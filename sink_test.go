package hawk

import (
	"testing"

	"github.com/hawktrace/hawk/internal/feed"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/value"
)

// countingNamer counts how often names of a stack are asked for.
type countingNamer struct{ asked int }

func (n *countingNamer) FramesAt(*value.Stack, int, value.Depth, *value.Frame, func(*value.Frame)) {
	n.asked++
}
func (n *countingNamer) Truncated(*value.Stack) bool { return false }
func (n *countingNamer) Lines() *value.Lines         { return nil }
func (n *countingNamer) Pool() *value.Pool           { return nil }

// TestSinkNamesWhatIsTaken: Close waits while the kernel's buffer is emptied, so no names are looked
// for in events that the queue drops; those it takes have theirs.
func TestSinkNamesWhatIsTaken(t *testing.T) {
	s := &Session{queue: feed.New[output.Item](2, false)}
	s.queued.Store(true)
	k := &sink{s: s}
	s.queue.Shut()
	var names countingNamer
	for range 5 {
		if err := k.Write(output.Print{Value: &value.Stack{Addrs: []uint64{1}, Namer: &names}}); err != nil {
			t.Fatal(err)
		}
	}
	if names.asked != 2 || s.queue.Dropped() != 3 {
		t.Errorf("%d stacks were named, %d events dropped; want 2 and 3", names.asked, s.queue.Dropped())
	}
	if err := k.Write(output.End{}); err != nil || s.queue.Dropped() != 3 {
		t.Errorf("the end of the run: %v, %d dropped; want 3", err, s.queue.Dropped())
	}
}
