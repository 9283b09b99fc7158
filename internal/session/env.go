package session

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/config"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

var _ builtin.Env = (*session)(nil)

// Config is the run's settings.
func (s *session) Config() *config.Config { return s.o.Config }

// Emit hands an item to the sink. The first error ends the run.
func (s *session) Emit(item output.Item) {
	s.keep(s.sink.Write(item))
	if s.watcher != nil {
		s.relay(item)
	}
	for _, err := range s.symbols.complaints() {
		s.keep(s.sink.Write(output.Message{Severity: source.Warning, Text: err.Error()}))
	}
}

// idle writes out what is due, when the reader has caught up.
func (s *session) idle() {
	s.flushCaptures()
	s.keep(s.sink.Idle())
	if s.watcher != nil {
		s.say(view.Idle{})
	}
}

// flush writes out everything: what is printed next by somebody else comes behind it.
func (s *session) flush() {
	s.flushCaptures()
	s.keep(s.sink.Flush())
}

// keep remembers the first error of the output, which ends the run.
func (s *session) keep(err error) {
	if err != nil && s.err == nil {
		s.err = err
	}
}

// Errorf reports an action in user space that failed.
func (s *session) Errorf(format string, args ...any) {
	s.Emit(output.Message{Severity: source.Error, Text: s.message(format, args)})
}

// message words something for standard error. A text in it may have lines.
func (s *session) message(format string, args []any) string {
	if s.Escapes().Messages {
		for i, arg := range args {
			if text, ok := arg.(string); ok {
				args[i] = value.EscapeLines(text)
			}
		}
	}
	return fmt.Sprintf(format, args...)
}

// Warnf reports something odd about a place in the script, or about none.
func (s *session) Warnf(at source.Span, format string, args ...any) {
	s.Emit(output.Message{Severity: source.Warning, Span: at, Text: s.message(format, args)})
}

// Stderr is where errors of commands go.
func (s *session) Stderr() io.Writer { return s.o.Stderr }

// Exit ends the run with a status, of which 8 bits count. That of the first call is the run's.
func (s *session) Exit(code int) {
	if s.exited && s.walking {
		return
	}
	s.status, s.exited = int(byte(code)), true
}

// argSize is how many bytes an argument has in the fixed part of its record.
func argSize(a object.Arg) int {
	if agg, ok := a.Type.(*types.Agg); ok {
		if kind, ok := builtin.LookupAgg(agg.Kind); ok {
			return kind.CellBytes(agg)
		}
	}
	return a.Type.Size()
}

// slot is where an argument lies in its record.
func slot(a object.Arg) value.Slot {
	return value.Slot{Type: a.Type, Offset: a.Offset, Size: argSize(a), Tail: a.Tail}
}

// Decode makes the value of an argument.
func (s *session) Decode(a object.Arg, rec []byte) value.Value {
	at := slot(a)
	return value.Decode(a.Type, at.Bytes(rec), s)
}

// Bytes are those of a buffer.
func (s *session) Bytes(a object.Arg, rec []byte) []byte {
	at := slot(a)
	return value.BufferBytes(a.Type, at.Bytes(rec))
}

// eventOf finds what is known of an event; its number begins the record.
func (s *session) eventOf(ev *object.Event, rec []byte) *event {
	if len(rec) >= 4 {
		if n := binary.NativeEndian.Uint32(rec); int(n) < len(s.events) && s.events[n].Event == ev {
			return &s.events[n]
		}
	}
	return nil
}

// Escapes is what the sink has escaped.
func (s *session) Escapes() output.Escapes { return s.sink.Escapes() }

// Message is the text of a value that goes to standard error.
func (s *session) Message(v value.Value) string {
	if s.Escapes().Messages {
		v = value.Escaped(v)
	}
	return string(value.AppendText(nil, v))
}

// FormatMessage is Format for standard error.
func (s *session) FormatMessage(ev *object.Event, rec []byte) string {
	return string(s.fill(nil, ev, rec, s.Escapes().Messages))
}

// Format formats a record's arguments by the text of its event.
func (s *session) Format(dst []byte, ev *object.Event, rec []byte) []byte {
	return s.fill(dst, ev, rec, false)
}

// FormatSome formats arguments of a record, from the first one on, by a format of its own.
func (s *session) FormatSome(text string, ev *object.Event, first int, rec []byte) (n int, out []byte) {
	f, err := value.ParseFormat(text)
	e := s.eventOf(ev, rec)
	if err != nil || e == nil || first+f.Conversions() > len(e.slots) {
		return 0, nil
	}
	slots := e.slots[first:][:f.Conversions()]
	return len(slots), f.Plan(slots).Append(nil, rec, s)
}

// planOf makes the plan of an event's format, once. An object that was compiled ahead of time has the
// text alone.
func planOf(e *event) (*value.Plan, error) {
	if e.plan != nil {
		return e.plan, nil
	}
	f := e.Format
	if f == nil {
		var err error
		if f, err = value.ParseFormat(e.Text); err != nil {
			return nil, err
		}
	}
	e.plan = f.Plan(e.slots)
	return e.plan, nil
}

// fill formats the arguments of a record.
func (s *session) fill(dst []byte, ev *object.Event, rec []byte, escape bool) []byte {
	e := s.eventOf(ev, rec)
	if e == nil {
		return dst
	}
	plan, err := planOf(e)
	switch {
	case err != nil:
		return append(append(append(dst, "!{"...), err.Error()...), '}')
	case escape:
		return plan.AppendEscaped(dst, rec, s)
	}
	return plan.Append(dst, rec, s)
}

// Printf emits what Format yields without allocating. Nothing else is said while plain arguments are
// formatted, so that they go straight to where text is collected.
func (s *session) Printf(ev *object.Event, rec []byte) {
	if text, ok := s.sink.(*output.Text); ok && s.watcher == nil && !text.Escapes().Output {
		if e := s.eventOf(ev, rec); e != nil && e.plan != nil && e.plan.Plain() {
			s.keep(text.Filled(e.plan.Append(text.Room(), rec, s)))
			return
		}
	}
	s.format.Text = s.fill(s.format.Text[:0], ev, rec, s.Escapes().Output)
	s.format.At = ev.At
	s.Emit(&s.format)
}

// Trailer is appended to strings that were cut.
func (s *session) Trailer() string { return s.o.Config.StrTruncTrailer }

// Unreadable is shown in place of strings that could not be read.
func (s *session) Unreadable() string { return s.o.Config.StrUnreadable }

// Deferred has the builtin that made a value give it its text.
func (s *session) Deferred(t *types.Deferred, raw []byte) value.Value {
	return builtin.RendererOf(t).Render(s, t, raw)
}

// Agg reads a cell.
func (s *session) Agg(t *types.Agg, cell []byte) value.Value {
	if kind, ok := builtin.LookupAgg(t.Kind); ok {
		return kind.Show(t, cell)
	}
	return value.Null{}
}

// KernelSymbol names a kernel address.
func (s *session) KernelSymbol(addr uint64) (name string, offset uint64, ok bool) {
	return s.kernelSymbols().Lookup(addr)
}

// userSymbol names an address of a process. The module is known of more
// addresses than the name.
func (s *session) userSymbol(pid int, addr uint64) (name string, offset uint64, module string, ok bool) {
	f, ok := s.userSymbols().Lookup(pid, addr)
	return f.Name, f.Off, f.Module, ok
}

// Started is when tracing began.
func (s *session) Started() uint64 { return atomic.LoadUint64(s.word(object.DataStart)) }
