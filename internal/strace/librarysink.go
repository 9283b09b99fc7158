package strace

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"

	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/value"
)

// Records of tools/ltrace.bt have these in front, and others that strace.bt has too.
const (
	recordBegins  = 0
	recordReturns = 13
)

// A librarySink makes lines of what the script of ltrace sends. Calls nest, unlike those of the
// kernel: printf() calls malloc() through the table. The line of a call is begun when another one begins
// before it returns, in it or in another thread, and resumed when it returns.
type librarySink struct {
	*Sink
	p       *Program
	frames  map[int][]*frame  // of threads: what was called and has not returned, the innermost last
	starts  map[int]bool      // processes that have not come to main()
	signals map[int]int       // the last one that each process was shown to get
	known   map[int]bool      // processes that run what is traced
	systems map[int]*function // system calls by their numbers
	later   map[int][]ignored // signals that wait for the end of a thread's system call
	forked  map[int]string    // what made a process that has not done anything yet
	pending *frame            // the call that began last, if nothing has happened since
}

// A frame is a call that has not returned.
type frame struct {
	Call
	of *function
	// The stack pointer at the call, which tells the frames of a thread apart and orders them.
	sp    uint64
	shown bool // that it began
	mark  int  // how many of its arguments were shown then
	site  bool // the probe is on the instruction that calls
}

// NewSink makes a sink that writes lines to w, and passes on messages to rest.
func (p *Program) NewSink(w io.Writer, rest output.Sink) output.Sink {
	return &librarySink{Sink: NewSink(w, rest, p.Options), p: p, frames: map[int][]*frame{}, starts: map[int]bool{},
		signals: map[int]int{}, known: map[int]bool{}, systems: map[int]*function{},
		later: map[int][]ignored{}, forked: map[int]string{}}
}

// Write takes an item. Rows of other tools and messages go on to the sink behind.
func (s *librarySink) Write(item output.Item) error {
	switch it := item.(type) {
	case output.Lost:
		return s.Sink.Write(it)
	case *output.Snap:
		s.record(it)
		return s.err
	case output.Print:
		if s.note(it.Value) {
			return s.err
		}
	case output.Map:
		if it.Name == "@calls" {
			s.table(it)
			return s.err
		}
	}
	return s.to.Write(item)
}

// record takes a record of tools/ltrace.bt: kind, thread and what the kind has, see that script.
// Records of one thread come in their order; those of threads on several processors nearly do.
func (s *librarySink) record(r *output.Snap) {
	word := r.Integer
	tid := int(word(1))
	switch kind := word(0); kind {
	case recordEarly, recordLate:
		s.thread(tid).add(uint64(word(2)), r.Bytes, kind)
	case recordPointer:
		s.thread(tid).further(kind, r)
	case recordBegins:
		s.calls(tid, word)
	// Kind, thread, stack pointer at the call, time, result.
	case recordReturns:
		s.returns(tid, uint64(word(3)), word(4), word(5), s.memory(tid))
	case recordSignal:
		if g := int(word(4)); g != sigKill { // which threads are ended by when another signal ends the process
			s.signalled(tid, int(word(2)), g, word(3))
		}
	case recordSent: // is ignored, and stands where it would be delivered
		g := ignored{int(word(2)), int(word(4)), word(3)}
		if all := s.frames[tid]; len(all) > 0 && all[len(all)-1].of.system {
			s.later[tid] = append(s.later[tid], g)
			break
		}
		s.signalled(tid, g.pid, g.number, g.at)
	// The child returns from fork() as well, in memory of its own: inChild shows that.
	case recordFork:
		child := int(word(2))
		s.live[child], s.known[child] = true, true
		for _, f := range s.frames[tid] {
			if f.of.key == "fork" || f.of.key == "vfork" {
				s.forked[child] = f.of.name
			}
		}
	case recordProgram: // the first one is the command
		pid := int(word(2))
		if s.known[pid] || s.p.Attached {
			s.becomes(tid, word(3))
		}
		s.known[pid] = true
	case recordEnd:
		s.ends(tid, int(word(2)), word(3), int(word(4)))
	}
}

// calls takes the beginning of a call: kind, thread, process, place of the call, time, stack pointer,
// six registers. What runs between the entry of a program and its main() is not shown.
func (s *librarySink) calls(tid int, word func(int) int64) {
	place := uint64(word(3))
	f := &frame{of: s.p.calls[place], sp: uint64(word(5))}
	f.TID, f.PID, f.Enter, f.Unfinished = tid, int(word(2)), word(4), true
	for i := range f.Args {
		f.Args[i] = uint64(word(6 + i))
	}
	f.mem = s.memory(tid)
	if th := s.thread(tid); s.p.Pointer || s.p.Frames > 0 {
		length := s.p.behind[place]
		f.noted, f.site = &noted{pointer: th.pointer + length, stack: th.stack}, length > 0
		th.noted = noted{}
	}
	switch {
	case place&systemCall != 0:
		if s.known[f.PID] || s.p.Attached {
			f.Nr = int(place &^ systemCall)
			f.of = s.system(f.Nr)
			s.begins(f)
		}
	case f.of == nil:
	case f.of == s.p.entry:
		s.starts[f.PID] = true
	case f.of == s.p.main:
		delete(s.starts, f.PID)
	case !s.starts[f.PID]:
		s.begins(f)
	}
}

// becomes shows that a process runs another program, in which none of its calls returns.
func (s *librarySink) becomes(tid int, at int64) {
	s.frames[tid] = nil
	if s.o.JSON {
		s.happened("exec", tid, at)
		s.str("}}")
	} else {
		s.event(tid, at)
		s.str("--- Called exec() ---")
	}
	s.line()
}

// ends takes the end of a thread, with the status of its process. It shows the end of the process
// if the thread is the one that the process is called by, and forgets both.
func (s *librarySink) ends(tid, pid int, at int64, code int) {
	sig := code & 0x7f
	if tid == pid && sig != 0 && sig != sigKill && sig != s.signals[tid] && s.p.Signals {
		s.signalled(tid, tid, sig, at)
	}
	// Calls of a thread that ends, as exit(), never return.
	s.leaves(tid, 0, at)
	if tid == pid {
		s.ended(tid, at, code)
		delete(s.signals, tid)
		delete(s.known, tid)
		delete(s.starts, tid)
	}
	delete(s.frames, tid)
	delete(s.threads, tid)
	delete(s.live, tid)
	delete(s.later, tid)
	delete(s.forked, tid)
	s.recent = nil
}

// An ignored signal is one that is never delivered. ltrace stops at it all the same, and shows
// it.
type ignored struct {
	pid, number int
	at          int64
}

// inChild shows that a call that made a process has returned there, before anything else of that.
func (s *librarySink) inChild(tid int, at int64) {
	name, ok := s.forked[tid]
	if !ok {
		return
	}
	delete(s.forked, tid)
	if s.o.JSON {
		return
	}
	s.cutOff(unfinished)
	s.begin(tid, at)
	s.nowhere()
	s.str("<... " + name + " resumed> ) ")
	s.result()
	s.str("0")
	s.line()
}

// result appends what is between a call and its result. A line that is longer than the column
// has one blank, which who calls this has appended.
func (s *librarySink) result() {
	for len(s.b) < s.o.Column-1 {
		s.b = append(s.b, ' ')
	}
	s.str("= ")
}

// system is a system call by its number. exit and exit_group do not return, and have no result
// to wait for.
func (s *librarySink) system(nr int) *function {
	f := s.systems[nr]
	if f == nil {
		name := s.decoder.name(nr)
		f = &function{name: "SYS_" + name, key: name, result: "p", system: true}
		if keeps.has(name) || name == "exit_group" {
			f.alone, f.result, f.key = true, "v", "exit"
		}
		s.systems[nr] = f
	}
	return f
}

// signalled shows a signal that was delivered, in the words of ltrace, and the call that it
// interrupts. ltrace has the text of strsignal() behind the name, with a capital.
func (s *librarySink) signalled(tid, pid, number int, at int64) {
	s.signals[pid] = number
	if s.o.JSON {
		if s.o.Signal(signalName(number)) {
			s.happened("signal", tid, at)
			s.str(`, "signal": "SIG` + signalName(number) + `"}}`)
			s.line()
		}
		return
	}
	s.event(tid, at)
	text := syscall.Signal(number).String()
	s.str("--- ")
	s.signal(number)
	s.str(" (" + strings.ToUpper(text[:1]) + text[1:] + ") ---")
	s.line()
}

// memory takes what was copied for a call of a thread. The bytes stay with the call for as long as
// its frame does; the thread starts anew. A frame may stay for minutes, so that it cannot share
// the thread's buffer.
func (s *librarySink) memory(tid int) memory {
	th := s.thread(tid)
	m := th.mem
	th.mem, th.data = nil, nil
	return m
}

// begins notes a call, and shows the beginning of the one that makes it. Nothing is written yet:
// a call that returns before anything else happens is one line.
func (s *librarySink) begins(f *frame) {
	s.known[f.PID] = true
	s.inChild(f.TID, f.Enter)
	// A frame at or below this stack pointer is one that longjmp() or an exception left.
	s.leaves(f.TID, f.sp+1, f.Enter)
	s.cutOff(unfinished)
	if f.of.alone {
		end := noReturn
		if f.of.result != "v" || !keeps.has(f.of.key) {
			end = ")"
		}
		s.show(f, end)
		return
	}
	s.frames[f.TID] = append(s.frames[f.TID], f)
	s.pending = f
}

// unfinished is behind the beginning of a call that others come in between of.
const unfinished = " <unfinished ...>"

// noReturn is behind that of one that does not return, or before what is no call.
const noReturn = " <no return ...>"

// cutOff shows the beginning of the call that began last, if it has not returned: ltrace shows calls when they
// begin, so that whatever comes next ends its line.
func (s *librarySink) cutOff(end string) {
	if f := s.pending; f != nil && !f.shown && !s.o.JSON {
		s.show(f, end)
	}
	s.pending = nil
}

// leaves forgets calls that will not return, since what lies further out on the stack than they do
// is going on: those whose stack pointers are below sp, or all if it is 0. Stacks grow down:
// what was called later has a lower stack pointer.
func (s *librarySink) leaves(tid int, sp uint64, at int64) {
	all := s.frames[tid]
	for len(all) > 0 && (sp == 0 || all[len(all)-1].sp < sp) {
		last := all[len(all)-1]
		all = all[:len(all)-1]
		s.frames[tid] = all
		if !last.shown {
			s.show(last, noReturn)
		}
	}
}

// show shows the beginning of a call. A call that does not return has its stack here, as there
// is no later line to put it below.
func (s *librarySink) show(f *frame, end string) {
	f.shown = true
	if s.o.JSON {
		s.object(f)
		return
	}
	s.first(f)
	s.str(end)
	s.line()
	if s.pending == f {
		s.pending = nil
	}
	if f.of.alone {
		s.stack(f)
	}
}

// first begins the line of a call.
func (s *librarySink) first(f *frame) {
	s.begin(f.TID, f.Enter)
	s.place(f)
	s.indent(f)
	s.name(f)
	s.called(f, 0)
}

// name appends what a call is called, and the parenthesis.
func (s *librarySink) name(f *frame) {
	if f.of.system {
		s.str("SYS_") // and decode() the rest
		return
	}
	s.str(f.of.before + f.of.name + f.of.after)
	s.str("(")
}

// event begins a line that is about no call.
func (s *librarySink) event(tid int, at int64) {
	s.inChild(tid, at)
	s.cutOff(noReturn)
	s.begin(tid, at)
	s.nowhere()
}

// nowhere stands in such a line in place of where a call returns to. The number is what ltrace
// shows where it knows of none.
func (s *librarySink) nowhere() {
	if s.p.Pointer {
		s.str("[0xffffffffffffffff] ")
	}
}

// place appends where a call returns to.
func (s *librarySink) place(f *frame) {
	if s.p.Pointer {
		s.str(fmt.Sprintf("[%#x] ", f.pointer))
	}
}

// stack writes the functions that a call was made in, the innermost first.
func (s *librarySink) stack(f *frame) {
	without := 1 // the entry of the linkage table, or the function
	if f.site {
		without = 0
	}
	if s.p.Frames > 0 {
		s.Sink.frames(&f.Call, without, s.p.Frames)
	}
}

// indent appends blanks as deep as a call is nested. A call that has no frame, since its return
// is not traced, is as deep as the next would be.
func (s *librarySink) indent(f *frame) {
	depth := slices.Index(s.frames[f.TID], f)
	if depth < 0 {
		depth = len(s.frames[f.TID])
	}
	s.b = append(s.b, strings.Repeat(" ", depth*s.p.Indent)...)
}

// returns shows a call that has returned; its stack pointer says which one it is. Between a call
// and its return the stack pointer is the same, and no other frame of the thread has it.
func (s *librarySink) returns(tid int, sp uint64, at, result int64, m memory) {
	i := slices.IndexFunc(s.frames[tid], func(f *frame) bool { return f.sp == sp })
	if i < 0 {
		return // it began before tracing, or was lost
	}
	s.leaves(tid, sp, at)
	f := s.frames[tid][i]
	if s.pending == f {
		s.pending = nil
	}
	s.cutOff(unfinished)
	f.Result, f.Exit, f.Unfinished, f.mem = result, at, false, append(f.mem, m...)
	if s.o.JSON {
		s.frames[tid] = s.frames[tid][:i]
		s.object(f)
		s.belated(f)
		return
	}
	if f.shown {
		s.begin(tid, at)
		s.place(f)
		s.indent(f)
		s.str("<... " + f.of.name + " resumed> ")
		s.called(f, f.mark)
	} else {
		s.first(f)
	}
	s.frames[tid] = s.frames[tid][:i]
	s.str(") ")
	s.result()
	s.came(f)
	if s.o.Took {
		s.took(&f.Call)
	}
	s.line()
	s.stack(f)
	s.belated(f)
}

// came appends what a call has returned.
func (s *librarySink) came(f *frame) {
	if f.of.system {
		s.outcome(&f.Call)
	} else if f.of.result == "s" { // as it is now: it may be an argument
		s.text0(uint64(f.Result), false)
	} else {
		kind, param, _ := strings.Cut(f.of.result, ":")
		s.value(arg{kind: kind, param: param}, uint64(f.Result))
	}
}

// belated shows the signals that have waited for the end of a system call.
func (s *librarySink) belated(f *frame) {
	if f.of.system {
		waiting := s.later[f.TID]
		delete(s.later, f.TID)
		for _, g := range waiting {
			s.signalled(f.TID, g.pid, g.number, g.at)
		}
	}
}

// object writes a call that has returned, or will not, as an object.
// The calls that it makes stand in front of it, since they return before it.
func (s *librarySink) object(f *frame) {
	if f.of.system {
		s.Sink.object(&f.Call)
		return
	}
	s.writing = f.TID
	s.b = s.b[:0]
	s.called(f, 0)
	args := bytes.Clone(s.b)
	s.b = s.b[:0]
	if s.came(f); f.Unfinished {
		s.b = append(s.b[:0], '?')
	}
	result := bytes.Clone(s.b)
	s.opens("call", &f.Call)
	s.textMember("function", []byte(f.of.name))
	object := cmp.Or(strings.TrimPrefix(f.of.after, "@"), strings.TrimSuffix(f.of.before, "->"), s.p.name)
	s.textMember("object", []byte(object))
	values := f.Args[:]
	// Floating point takes no turn in the registers.
	if slices.ContainsFunc(f.of.args, func(a arg) bool { return a.kind == "D" }) {
		values = nil
	}
	s.given(&f.Call, args, result, nil, values, false)
}

// ended says how a process has ended. These are the words of ltrace, which differ from strace's.
func (s *librarySink) ended(tid int, at int64, code int) {
	if s.o.JSON {
		s.end(s.thread(tid), code, at)
		return
	}
	s.event(tid, at)
	if sig := code & 0x7f; sig != 0 {
		s.str("+++ killed by ")
		s.signal(sig)
		s.str(" +++")
	} else {
		s.str(fmt.Sprintf("+++ exited (status %d) +++", code>>8&0xff))
	}
	s.line()
}

// table writes the table of -c, by time unless -S says something else. Functions of one name in
// several files are one row. Names break ties.
func (s *librarySink) table(m output.Map) {
	var all []*tally
	sum := tally{name: "total"}
	byName := map[string]*tally{}
	for i := range m.Entries.Len() {
		e := m.Entries.At(i)
		at := integer(e.Key)
		st, stats := e.Value.(value.Stats)
		f := s.p.calls[uint64(at)]
		if at&systemCall != 0 {
			f = s.system(int(at &^ systemCall))
		}
		if !stats || f == nil {
			continue
		}
		t := byName[f.name]
		if t == nil {
			t = &tally{name: f.name}
			all, byName[f.name] = append(all, t), t
		}
		t.calls, t.time = t.calls+uint64(st.Count), t.time+st.Total
		sum.calls, sum.time = sum.calls+uint64(st.Count), sum.time+st.Total
	}
	order.By(all, func(a, b *tally) int { return cmp.Compare(a.name, b.name) })
	if by := findColumn(cmp.Or(s.o.Sort, "time")); by != nil {
		order.Stably(all, by.order)
	}
	line := "------ ----------- ----------- --------- --------------------\n"
	var b bytes.Buffer
	b.WriteString("% time     seconds  usecs/call     calls      function\n" + line)
	for _, t := range all {
		fmt.Fprintf(&b, "%6.2f %11.6f %11d %9d %s\n", 100*float64(t.time)/float64(max(sum.time, 1)),
			float64(t.time)/1e9, t.average()/1e3, t.calls, t.name)
	}
	fmt.Fprintf(&b, "%s100.00 %11.6f             %9d total\n", line, float64(sum.time)/1e9, sum.calls)
	s.b = b.Bytes()
	s.write()
}
