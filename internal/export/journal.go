package export

import (
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

// Entries of systemd's journal, in its native protocol: events as they happen, elements of
// maps at the end. Each Write to the socket is an entry.
var _ = define(Format{
	Name: "journal", Ext: "socket", Takes: Everything, Stamps: true, Stream: newJournal,
	Socket: "/run/systemd/journal/socket",
	Doc:    "entries of systemd's journal: events as they happen, maps at the end; fields HAWK_… for values",
})

// Priorities of entries, as syslog numbers them.
const (
	journalError   = 3
	journalWarning = 4
	journalInfo    = 6
)

// A journalFeed makes entries; buf is the one that is being written.
type journalFeed struct {
	soFar
	to  io.Writer
	buf []byte
}

// newJournal makes a feed that writes an entry at a time.
func newJournal(w io.Writer, maps []*view.Map, _ Options) view.Feed {
	return &journalFeed{to: w, soFar: newSoFar(maps)}
}

// Fields of hawk's own, of events and of elements of maps.
var (
	journalEvent = []string{"HAWK_SCRIPT", "HAWK_TIME", "HAWK_CPU", "HAWK_PID", "HAWK_TID", "HAWK_SITE"}
	journalTable = []string{"HAWK_SCRIPT", "HAWK_MAP", "HAWK_REFUSED", "HAWK_COUNT", "HAWK_TOTAL", "HAWK_VALUE"}
)

// Take sends what an item says.
func (f *journalFeed) Take(item view.Item) error {
	switch it := item.(type) {
	case view.Begin:
		f.soFar.begin(it, journalEvent, journalName)
	case view.Event:
		return f.event(&it)
	case view.Snapshot:
		// Maps change all the time; the journal gets what they come to.
		f.read(it)
	case view.End:
		if err := f.tables(f.table); err != nil {
			return err
		}
		priority := journalInfo
		if it.Loss.Records > 0 {
			priority = journalWarning
		}
		f.begin(fmt.Sprintf("ended: %s, %d events lost", it.Cause, it.Loss.Records), priority)
		f.field("HAWK_STATUS", strconv.Itoa(it.Status))
		f.field("HAWK_LOST", strconv.FormatUint(it.Loss.Records, 10))
		return f.send()
	}
	return nil
}

// event sends an event as an entry. Its fields have the names of the columns.
func (f *journalFeed) event(ev *view.Event) error {
	priority := journalInfo
	switch ev.Site.Severity() {
	case "ERROR":
		priority = journalError
	case "WARNING":
		priority = journalWarning
	}
	f.begin(strings.TrimSuffix(string(ev.Text), "\n"), priority)
	f.field("HAWK_TIME", wall(&f.run, ev.Boot))
	if ev.Stamped {
		f.field("HAWK_CPU", strconv.Itoa(ev.CPU))
		f.field("HAWK_PID", strconv.Itoa(ev.PID))
		f.field("HAWK_TID", strconv.Itoa(ev.TID))
	}
	if ev.Site != nil {
		f.field("HAWK_SITE", strconv.Itoa(f.sites[ev.Site]))
		// CODE_LINE is a name of the journal's own for the line of a source.
		f.field("CODE_LINE", strconv.Itoa(lineOf(ev.Site)))
	}
	// Events without a site have no values, and so no names of them.
	for i, a := range ev.Args {
		f.field(f.names[ev.Site][i], logValue(a))
	}
	return f.send()
}

// table sends an entry for each element of a map.
func (f *journalFeed) table(m *view.Map, snap *view.Snapshot) error {
	if n := snap.Refused.Updates; n > 0 {
		f.begin(m.Name+" "+snap.Refused.String(), journalWarning)
		f.field("HAWK_MAP", m.Name)
		f.field("HAWK_REFUSED", strconv.FormatUint(n, 10))
		if err := f.send(); err != nil {
			return err
		}
	}
	names, columns := rowFields(m, journalTable, journalName)
	for _, i := range snap.Rows.Arrange(view.ByKey, nil) {
		row := snap.Rows.At(int(i))
		var key []string
		var fields [][2]string
		switch {
		case row.Others > 0:
			key = []string{"(other)"}
		case m.Keyed():
			for i, part := range view.Flatten(m.Key, row.Key) {
				key = append(key, logValue(part))
				fields = append(fields, [2]string{names[i], logValue(part)})
			}
		}
		text := m.Name
		if len(key) > 0 {
			text += "[" + strings.Join(key, ", ") + "]"
		}
		f.begin(view.Line(text+": "+journalValue(row.Value)), journalInfo)
		f.field("HAWK_MAP", m.Name)
		for _, kv := range fields {
			f.field(kv[0], kv[1])
		}
		if s, ok := value.Summary(row.Value); ok {
			f.field("HAWK_COUNT", strconv.FormatInt(s.Count, 10))
			f.field("HAWK_TOTAL", logValue(s.Sum()))
		} else if parts := columnsOf(m, row.Value); parts != nil {
			for i, part := range parts {
				f.field(columns[i], logValue(part))
			}
		} else {
			f.field("HAWK_VALUE", journalValue(row.Value))
		}
		if err := f.send(); err != nil {
			return err
		}
	}
	return nil
}

// journalValue is a value in a line: of a histogram the buckets that hold something.
func journalValue(v value.Value) string {
	h, ok := v.(value.Hist)
	if !ok {
		return logValue(v)
	}
	var parts []string
	for _, b := range h.Buckets {
		if b.Count > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", b.Label, b.Count))
		}
	}
	return strings.Join(parts, ", ")
}

// begin begins an entry. Its message is for who reads the journal, or what the journal passes it on to: names from
// outside act on neither. Other fields have them as they are.
func (f *journalFeed) begin(message string, priority int) {
	// The buffer is used again, as Write has sent what was in it.
	f.buf = f.buf[:0]
	f.field("MESSAGE", view.Lines(message))
	f.field("PRIORITY", strconv.Itoa(priority))
	f.field("SYSLOG_IDENTIFIER", "hawk")
	f.field("HAWK_SCRIPT", f.run.Script.Name)
}

// field adds a field. A value that is not plainly a line goes with its length, so that it
// cannot begin another field.
func (f *journalFeed) field(name, text string) {
	f.buf = append(f.buf, name...)
	// The journal's native protocol has two forms: NAME=text and a newline, or NAME, a newline, 64
	// bits of length, and as many bytes.
	plain := utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
	if plain {
		f.buf = append(f.buf, '=')
	} else {
		f.buf = append(f.buf, '\n')
		f.buf = binary.LittleEndian.AppendUint64(f.buf, uint64(len(text)))
	}
	f.buf = append(append(f.buf, text...), '\n')
}

// send writes the entry as one datagram.
func (f *journalFeed) send() error {
	_, err := f.to.Write(f.buf)
	return err
}

// maxJournalName is how long the journal allows the name of a field to be, 64 bytes, with room for _2.
const maxJournalName = 64 - 4

// journalName is the name of a field that the journal takes: capital letters, digits and
// underscores.
func journalName(name string) string {
	// A field of this prefix is none that the journal trusts: those begin with _.
	name = "HAWK_" + strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, name)
	// All letters are ASCII by now, so that none is cut in half.
	return name[:min(len(name), maxJournalName)]
}
