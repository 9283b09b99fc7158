package hawk

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"reflect"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/value"
)

// Kind is what an event is. Programs must take unknown ones.
type Kind int

// The kinds of event, in the order of the list below. They are a printed value, a formatted
// text, other text, a printed map, events that were lost, trouble at run time, that all is
// attached, and the end of the run.
const (
	Print Kind = iota + 1
	Printf
	Text
	MapPrint
	Lost
	RuntimeError
	Attached
	End

	eventKinds = iota + 1 // how many there are, with 0
)

// An Event is something that the script prints, or that the run has to say.
type Event struct {
	Kind  Kind
	Time  time.Time // when it was read; the script's own clock is in the record
	Text  []byte    // as the command would print it; valid until the next event
	Value Value     // of Print
	Map   *Snapshot // of MapPrint
	Site  Position  // in the script, if it is a place there

	item output.Item
}

// Decode stores the value of a Print; see [Value.Decode]. Other events have none, which is a
// [*DecodeError].
func (e *Event) Decode(dst any) error {
	if e.Kind != Print {
		return &DecodeError{Type: reflect.TypeOf(dst), why: "an event of kind " + e.Kind.String() + " has no value"}
	}
	return e.Value.Decode(dst)
}

// event makes an event of an item. The Kind is 0 of one that is not for the consumer.
func (s *Session) event(it output.Item, text *renderer) Event {
	ev := Event{Time: s.o.Clock(), item: it}
	var at source.Span
	switch it := it.(type) {
	case output.Print:
		ev.Kind, at = Print, it.At
		ev.Value = Value{it.Type, it.Value, s.plans}
	case *output.Printf:
		ev.Kind, at = Printf, it.At
	case output.Raw:
		ev.Kind, at = Text, it.At
	case output.Row:
		ev.Kind, at = Text, it.At
	case output.Note:
		ev.Kind, at = Text, it.Span
	case output.Map:
		ev.Kind, at = MapPrint, it.At
		for _, info := range s.p.Maps() {
			if info.Name == it.Name {
				ev.Map = s.snapshot(info, it.Sorted())
			}
		}
	case output.Lost, output.LostTotal, output.Skipped:
		ev.Kind = Lost
	case output.Attached:
		ev.Kind = Attached
	case output.End:
		ev.Kind = End
	case output.Message:
		ev.Kind, at = RuntimeError, it.Span
	case output.HelperError:
		ev.Kind, at = RuntimeError, it.Span
	case output.RuntimeError:
		ev.Kind, at = RuntimeError, it.Span
	case output.Unread:
		ev.Kind = RuntimeError
	default:
		ev.Kind = Text
	}
	ev.Site = span(at).Start
	if text != nil {
		ev.Text = text.render(it)
	}
	return ev
}

// A renderer makes the text of one item after the other.
type renderer struct {
	buf  bytes.Buffer
	sink output.Sink
}

func newRenderer() *renderer {
	r := &renderer{}
	r.sink = output.NewText(&r.buf, &r.buf, output.Options{Buffering: output.Unbuffered})
	return r
}

func (r *renderer) render(it output.Item) []byte {
	r.buf.Reset()
	r.sink.Write(it)
	return r.buf.Bytes()
}

// sink takes the items of a run to the output and to the queue.
type sink struct {
	s     *Session
	text  *renderer
	ended bool // what comes now is of the end, not of records
}

// Write hands an item to the Output of the run. The queue of events gets it, too.
func (k *sink) Write(it output.Item) error {
	o := k.s.o.Output
	_, own := o.(*writer)
	must := k.must(it)
	queued := k.s.queued.Load()
	if queued && !must && k.s.queue.Refuses() {
		// Names of stacks take long to find, and Close waits for all that the kernel's buffer holds.
		queued = false
	}
	if o != nil && !own || queued {
		settle(it) // it may be read from other goroutines, and when all is closed
	}
	if o != nil {
		text := k.text
		if own {
			text = nil // it makes its own
		}
		ev := k.s.event(it, text)
		if own {
			if err := o.Write(&ev); err != nil {
				return err
			}
		} else if err := k.call(func() error { return o.Write(&ev) }); err != nil {
			return err
		}
	}
	if _, end := it.(output.End); end {
		k.ended = true
	}
	if !queued {
		return nil
	}
	switch x := it.(type) {
	case *output.Printf:
		it = &output.Printf{Text: bytes.Clone(x.Text), At: x.At}
	case output.Raw:
		x.Text = bytes.Clone(x.Text)
		it = x
	case *output.Snap:
		copied := *x
		copied.Integers, copied.Bytes = bytes.Clone(x.Integers), bytes.Clone(x.Bytes)
		it = &copied
	}
	k.s.queue.Push(it, must)
	return nil
}

// must reports whether an item may not be dropped. It is about the run then, and none of its events.
func (k *sink) must(it output.Item) bool {
	switch it.(type) {
	case *output.Printf, output.Raw, *output.Snap, output.Print, output.Map, output.Row:
		return k.ended
	}
	return true
}

// settle finds the names of the stacks in an item.
func settle(it output.Item) {
	all := func(vs []value.Value) {
		for _, v := range vs {
			value.Settle(v)
		}
	}
	entries := func(es output.Entries) {
		for i := range es.Len() {
			e := es.At(i)
			value.Settle(e.Key)
			value.Settle(e.Value)
		}
	}
	switch it := it.(type) {
	case output.Print:
		value.Settle(it.Value)
	case output.Row:
		all(it.Cells)
	case output.Map:
		entries(it.Entries)
	case output.Stacks:
		entries(it.Entries)
	case output.Table:
		for _, row := range it.Rows {
			all(row)
		}
	case output.Cycles:
		for _, c := range it.Found {
			all(c.Nodes)
			all(c.Edges)
		}
	}
}

func (k *sink) Idle() error { return k.Flush() }

func (k *sink) Flush() error {
	if o := k.s.o.Output; o != nil {
		return k.call(o.Flush)
	}
	return nil
}

// call calls the Output of the run, in a thread that is remembered. Nothing else runs in it meanwhile.
func (k *sink) call(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	k.s.within.Store(int32(unix.Gettid()))
	defer k.s.within.Store(0)
	return f()
}

// waitsForItself is an error if the run's own Output is about to wait for it.
func (s *Session) waitsForItself() error {
	if t := s.within.Load(); t == 0 || t != int32(unix.Gettid()) {
		return nil
	}
	return errors.New("hawk: the Output of a run cannot wait for its end: Stop does not wait")
}

// Full has the run leave records to the kernel until somebody can read.
func (k *sink) Full() bool { return k.s.queued.Load() && k.s.queue.Full() }

func (k *sink) Escapes() output.Escapes { return output.Escapes{} }

// An Output takes events in order, from one goroutine at a time. An error ends the run.
type Output interface {
	Write(*Event) error
	Flush() error
}

// TextOutput writes byte for byte what the command prints. Messages that it writes to standard
// error go to err. Nil writes nothing.
func TextOutput(out, err io.Writer) Output {
	return &writer{output.NewText(cmp.Or(out, io.Discard), cmp.Or(err, io.Discard), output.Options{})}
}

// JSONOutput writes byte for byte what the command prints with -f json. Each event is a
// line. Messages about trouble, which the command writes to standard error, are left out. Nil
// writes nothing.
func JSONOutput(w io.Writer) Output {
	return &writer{output.NewJSON(cmp.Or(w, io.Discard), io.Discard, output.Options{})}
}

// A writer is an output that writes items itself.
type writer struct{ sink output.Sink }

func (w *writer) Write(e *Event) error {
	if e == nil || e.item == nil {
		return nil
	}
	return w.sink.Write(e.item)
}

func (w *writer) Flush() error { return w.sink.Flush() }
