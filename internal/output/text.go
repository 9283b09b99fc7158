package output

import (
	"bytes"
	"fmt"
	"io"
	"strconv"

	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/value"
)

// PlainText is the form of who asks for none.
var PlainText = define(Form{
	Name: "text", Doc: "text, as printf() and print() have it; so it is without -f",
	New: func(w, stderr io.Writer, o Options) Sink { return NewText(w, stderr, o) },
})

// Text writes items as text: the program's output to one stream, messages to
// standard error.
type Text struct {
	out    stream
	stderr io.Writer
	opts   Options
	rows   rows
	page   bool // a page was begun on a terminal
	lines  int  // written to it since
}

// NewText returns a sink that writes text to w. What stands on stderr is
// ordered after what was written to w before it.
func NewText(w, stderr io.Writer, opts Options) *Text {
	return &Text{
		out: stream{w: w, mode: opts.Buffering}, stderr: stderr, opts: opts, rows: rows{headless: opts.NoHeader},
	}
}

// Idle writes out complete lines, if lines are what is buffered.
func (t *Text) Idle() error { return t.out.idle() }

// Flush writes out everything.
func (t *Text) Flush() error { return t.out.flush() }

// Escapes is what the options say.
func (t *Text) Escapes() Escapes { return t.opts.Escapes }

// shown is a value as it may be written.
// Formats are not escaped here: printf escapes its arguments while it formats.
func (t *Text) shown(v value.Value) value.Value {
	if t.opts.Escapes.Output {
		return value.Escaped(v)
	}
	return v
}

// Write writes an item.
func (t *Text) Write(item Item) error {
	s := &t.out
	start := len(s.buf)
	switch it := item.(type) {
	case *Printf:
		s.buf = append(s.buf, it.Text...)
	case Print:
		s.buf = append(value.AppendText(s.buf, t.shown(it.Value)), '\n')
	case *Snap:
		s.buf = append(value.AppendText(s.buf, t.shown(it.Value())), '\n')
	case Raw:
		if it.Data && t.opts.Escapes.Output {
			s.buf = append(s.buf, value.EscapeLines(string(it.Text))...)
		} else {
			s.buf = append(s.buf, it.Text...)
		}
		if it.Line {
			s.buf = append(s.buf, '\n')
		}
	case Map:
		return t.writeMap(it)
	case Header:
		if columns, first := t.rows.of(it.Spec); first {
			s.buf = appendHeader(s.buf, columns)
		}
	case Row:
		columns, first := t.rows.of(it.Spec)
		if first {
			s.buf = appendHeader(s.buf, columns)
		}
		s.buf = appendRow(s.buf, columns, &it)
	case Table:
		columns, _ := t.rows.of(it.Spec)
		s.buf = appendTable(s.buf, columns, &it, t.opts.NoHeader, t.room())
	case Shown:
		return t.writeShown(it)
	case Stacks:
		s.buf = appendStacks(s.buf, &it)
	case Cycles:
		s.buf = appendCycles(s.buf, &it)
	case Screen:
		s.buf = t.newPage(s.buf, it)
	case End:
		if !t.opts.NoEnd {
			s.buf = append(s.buf, "\n\n"...)
		}
	case Attached:
		if t.opts.Quiet {
			return s.err
		}
		return t.message(appendAttached(nil, it.Probes))
	case Note:
		if t.opts.Quiet {
			return s.err
		}
		return t.message(append([]byte(it.Text), '\n'))
	case Lost:
		return t.message(fmt.Appendf(nil, "Lost %d events\n", it.Events))
	default:
		var ok bool
		if s.buf, ok = t.appendReport(s.buf, item); !ok {
			return t.complain(item)
		}
	}
	t.paged(s.buf[start:])
	return s.wrote(start)
}

// Room is the text that is not written out yet. What is appended to it is handed to Filled, before
// anything else is written.
func (t *Text) Room() []byte { return t.out.buf }

// Filled takes what Room yielded with a text behind it, as Write takes a Printf.
func (t *Text) Filled(buf []byte) error {
	start := len(t.out.buf)
	t.out.buf = buf
	t.paged(buf[start:])
	return t.out.wrote(start)
}

// complain writes diagnostics, which look the same in every format.
func (t *Text) complain(item Item) error {
	var b bytes.Buffer
	printDiagnostic(&b, item, t.opts)
	return t.message(b.Bytes())
}

// message writes to standard error, behind what was printed before.
func (t *Text) message(text []byte) error {
	if len(text) == 0 {
		return t.out.err
	}
	err := t.out.idle()
	t.stderr.Write(text) // there is nowhere left to report a failure
	return err
}

// appendAttached says how many probes are attached, in the reference's words.
func appendAttached(dst []byte, n int) []byte {
	if n == 1 {
		return append(dst, "Attached 1 probe\n"...)
	}
	return fmt.Appendf(dst, "Attached %d probes\n", n)
}

// printDiagnostic writes the items that are about a place in the script.
func printDiagnostic(w io.Writer, item Item, opts Options) {
	d := source.Diagnostic{Severity: source.Warning}
	print := source.PrintOptions{Color: opts.Color, NoWarnings: opts.NoWarnings, Tool: opts.Tool}
	switch it := item.(type) {
	case Message:
		d.Severity, d.Span, d.Msg = it.Severity, it.Span, it.Text
		print.NoExcerpt = true
	case HelperError:
		if it.Full && opts.MaxKeys {
			d.Msg = fmt.Sprintf("%d events did not fit: --max-keys", it.Repeats)
			break
		}
		d.Span = it.Span
		d.Msg = fmt.Sprintf("%s%s\nAdditional Info - helper: %s, retcode: %d", it.Msg,
			repeats(it.Repeats), it.Helper, it.Code)
	case RuntimeError:
		d.Span, d.Msg = it.Span, it.Msg+repeats(it.Repeats)
	case Unread:
		d.Msg = fmt.Sprintf("Total unreadable string count: %d. What is not in memory when a probe "+
			"fires can not be read there; -k shows the places.", it.Strings)
		if it.Entry {
			d.Hint("what is not there at the entry of a system call is at its exit: keep the pointer, " +
				"@at[tid] = args.filename, and read it in sys_exit")
		}
	case LostTotal:
		d.Msg = fmt.Sprintf("Total lost event count: %d", it.Events)
		print.NoWarnings = false
	case Skipped:
		d.Msg = fmt.Sprintf("Total skipped event count: %d. The kernel did not run the probe for these: "+
			"its program was running on that CPU, or too many calls were waiting "+
			"for their return. No filter was asked.", it.Events)
		print.NoWarnings = false
	default:
		return
	}
	d.Print(w, print)
}

// repeats says how often a failure was counted, which then stands for all of them.
func repeats(n uint64) string {
	if n <= 1 {
		return ""
	}
	return " (" + strconv.FormatUint(n, 10) + " times)"
}

// writeMap writes a map, entry by entry: a big one goes out in pieces.
func (t *Text) writeMap(m Map) error {
	s := &t.out
	entries := m.arrange()
	newest := m.newestEpoch()
	for i := range entries.Len() {
		e := entries.At(i)
		start := len(s.buf)
		s.buf = append(s.buf, m.Name...)
		if m.Keyed {
			s.buf = append(s.buf, '[')
			s.buf = value.AppendKey(s.buf, t.shown(e.Key))
			s.buf = append(s.buf, ']')
		}
		switch v := e.Value.(type) {
		case value.Hist:
			s.buf = append(s.buf, ":\n"...)
			s.buf = appendHistogram(s.buf, v)
		case value.Series:
			s.buf = append(s.buf, ":\n"...)
			s.buf = appendSeries(s.buf, v, newest)
		default:
			s.buf = append(s.buf, ": "...)
			s.buf = value.AppendText(s.buf, t.shown(v))
		}
		s.buf = append(s.buf, '\n')
		if err := s.wrote(start); err != nil {
			return err
		}
	}
	return nil
}
