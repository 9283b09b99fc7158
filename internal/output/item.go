// Package output writes what a run produces: text exactly as the language
// specifies it, or JSON, one object a line. Further forms are further Sinks.
package output

import (
	"encoding/binary"

	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

// An Item is one thing a run wants shown. The concrete types are below.
type Item interface{ item() }

type (
	// Printf is formatted text. The item is a pointer to it, so that the most
	// frequent one need not be allocated; its text is not kept.
	Printf struct {
		Text []byte
		At   source.Span // the call; zero if it is not known
	}
	// Print is print(value).
	Print struct {
		Value value.Value
		Type  types.Type  // of the value in the script; nil if it is not known
		At    source.Span // the call; zero if it is not known
	}
	// Snap is snap(): integers, as the kernel has them, and bytes, nil if they could not
	// be read. The item is a pointer to it, and what it refers to is not kept.
	Snap struct {
		Integers   []byte // 8 of each
		Bytes      []byte
		Unreadable string // what stands for bytes that could not be read
	}
	// Raw is text of time, cat, join or system; Type is its JSON record type.
	Raw struct {
		Type string // "time", "cat", "join", "syscall"
		Text []byte
		Line bool        // written as text, it is a line of its own
		Data bool        // it comes from elsewhere than the script, with lines of its own
		At   source.Span // the call; zero if it is not known
	}
	// Map is print(@m) or a map at exit. Entries are unsorted; the sink sorts
	// and applies Top and Div.
	Map struct {
		Name     string // with @
		Keyed    bool
		Entries  Entries     // a scalar map has one
		Top, Div int64       // 0: all, 1
		At       source.Span // the call; zero at exit
	}
	// Attached says how many probes are attached.
	Attached struct{ Probes int }
	// Lost says how many events were lost since the last such item.
	Lost struct{ Events uint64 }
	// LostTotal says at the end how many events were lost in all.
	LostTotal struct{ Events uint64 }
	// Skipped says at the end for how many events the kernel ran no program of theirs.
	Skipped struct{ Events uint64 }
	// Unread says at the end how many strings of user memory could not be read.
	Unread struct {
		Strings uint64
		Entry   bool // some were perhaps asked for at the entry of a system call
	}
	// Message is errorf or warnf; without a place, a complaint of hawk about an
	// action in user space.
	Message struct {
		Severity source.Severity
		Span     source.Span
		Text     string
	}
	// Note is notef: what a script says about its output.
	Note struct {
		Span source.Span
		Text string
	}
	// HelperError is a kernel call that failed at run time.
	HelperError struct {
		Span    source.Span
		Msg     string // for text; JSON prints strerror of Code
		Helper  string // without bpf_
		Code    int    // negative errno or 0
		Repeats uint64 // how often it happened since the last report
		Full    bool   // a map had no room
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

func (*Printf) item()      {}
func (Print) item()        {}
func (*Snap) item()        {}
func (Raw) item()          {}
func (Map) item()          {}
func (Attached) item()     {}
func (Lost) item()         {}
func (LostTotal) item()    {}
func (Skipped) item()      {}
func (Unread) item()       {}
func (Message) item()      {}
func (Note) item()         {}
func (HelperError) item()  {}
func (RuntimeError) item() {}
func (End) item()          {}

// Integer is one of the integers; 0 where there is none.
func (it *Snap) Integer(i int) int64 {
	if i < 0 || 8*i+8 > len(it.Integers) {
		return 0
	}
	return int64(binary.NativeEndian.Uint64(it.Integers[8*i:]))
}

// Value is the tuple that is shown.
func (it *Snap) Value() value.Tuple {
	var t value.Tuple
	for i := range len(it.Integers) / 8 {
		t = append(t, value.Int(it.Integer(i)))
	}
	if it.Bytes == nil {
		return append(t, value.Unread(it.Unreadable))
	}
	return append(t, value.Buffer(it.Bytes))
}

// A Sink consumes items in order. It is used by one goroutine. An error ends
// the run: the output cannot be written; it wraps what the writer said.
// A session has one, which may pass items on to others.
type Sink interface {
	Write(Item) error
	// Idle says that the reader has caught up with the kernel: what is due by
	// the buffering mode is written out.
	Idle() error
	// Flush writes out everything.
	Flush() error
	// Escapes says what is escaped of the data that the text of items is made of.
	Escapes() Escapes
}

// Escapes says where data is escaped as text is made of it, because a terminal
// would act on it.
type Escapes struct {
	Output   bool // in what the script prints
	Messages bool // in what goes to standard error
}

// Options says how a sink writes.
type Options struct {
	Buffering  Buffering
	NoWarnings bool   // warnf and run-time warnings are left out
	Color      bool   // of diagnostics on standard error
	Quiet      bool   // no Attached record
	NoEnd      bool   // no empty lines close the output
	MaxKeys    bool   // the user makes maps larger by --max-keys, and knows nothing of the script
	Tool       string // as source.PrintOptions has it
	NoHeader   bool   // rows stand without the names of their columns
	// Height is that of the terminal that is written to, in lines; nil: it is none.
	Height  func() int
	Escapes Escapes
	Safe    bool // JSON in which nothing is lost: see value.AppendSafeKey
}
