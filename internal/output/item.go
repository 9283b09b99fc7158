// Package output writes what a run produces: text exactly as the language
// specifies it, or JSON, one object a line. Further forms are further Sinks.
package output

import (
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/value"
)

// An Item is one thing a run wants shown. The concrete types are below.
type Item interface{ item() }

type (
	// Printf is formatted text.
	Printf struct{ Text []byte }
	// Print is print(value).
	Print struct{ Value value.Value }
	// Raw is text of time, cat, join or system; Type is its JSON record type.
	Raw struct {
		Type string // "time", "cat", "join", "syscall"
		Text []byte
	}
	// Map is print(@m) or a map at exit. Entries are unsorted; the sink sorts
	// by the rules of functions.md 17.9 and applies Top and Div.
	Map struct {
		Name     string // with @
		Keyed    bool
		Entries  []Entry // a scalar map has one entry with a nil Key
		Top, Div int64   // 0: all, 1
		Kind     MapKind
	}
	// Attached says how many probes are attached.
	Attached struct{ Probes int }
	// Lost says how many events were lost since the last such item.
	Lost struct{ Events uint64 }
	// Message is errorf or warnf.
	Message struct {
		Severity source.Severity
		Span     source.Span
		Text     string
	}
	// HelperError is a kernel call that failed at run time.
	HelperError struct {
		Span    source.Span
		Msg     string // for text; JSON prints strerror of Code
		Helper  string // without bpf_
		Code    int    // negative errno or 0
		Repeats uint64 // how often it happened since the last report
	}
	// RuntimeError is any other run-time problem.
	RuntimeError struct {
		Span    source.Span
		Msg     string
		Repeats uint64
	}
	// End is the end of the run: two newlines in text.
	End struct{}
)

// MapKind chooses the JSON record of a map.
type MapKind uint8

// The kinds of map record.
const (
	PlainMap MapKind = iota
	StatsMap
	HistMap
	SeriesMap
)

// An Entry is one element of a map.
type Entry struct {
	Key   value.Value
	Value value.Value
}

func (Printf) item()       {}
func (Print) item()        {}
func (Raw) item()          {}
func (Map) item()          {}
func (Attached) item()     {}
func (Lost) item()         {}
func (Message) item()      {}
func (HelperError) item()  {}
func (RuntimeError) item() {}
func (End) item()          {}

// A Sink consumes items in order. It is used by one goroutine.
type Sink interface {
	Write(Item) error // an error ends the run: the output cannot be written
	Flush() error
}
