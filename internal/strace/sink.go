package strace

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/value"
)

// Records of the script have one of these in front; tools/strace.bt has the same.
const (
	recordCall    = 0
	recordEarly   = 1
	recordLate    = 2
	recordEnd     = 3
	recordSignal  = 4
	recordSent    = 5
	recordFork    = 6
	recordCut     = 7
	recordProgram = 8
	recordWords   = 9
	recordResumed = 10
	recordWaits   = 11
	recordWaiting = 12
	recordFile    = 13
	recordSocket  = 14
	recordDevice  = 15
	recordPointer = 16
	recordMade    = 17
	recordStack   = 18
	recordNetlink = 19
	recordComm    = 20
)

// A Sink makes lines of what the script sends. A run has one goroutine that writes to it, so
// that there is no lock.
type Sink struct {
	*decoder
	w  *bufio.Writer
	to output.Sink // takes what is no record

	threads map[int]*thread
	recent  *thread             // the one that was looked for last
	writing int                 // thread whose line is written
	apart   map[int]*threadFile // by thread
	open    *thread             // whose call's line has no end yet
	held    []*thread           // whose calls are shown if they go on for longer
	live    map[int]bool
	offset  int64 // from the machine's clock to that of the wall
	before  int64 // moment of the line before
	totals  summary
	kept    map[int][]kept   // by thread, of --last
	lines   int              // that were kept
	direct  bool             // the next line is not kept, but written
	headed  bool             // the names of columns are written
	named   map[int][]string // names of the arguments of calls, by their numbers
	err     error
}

// A thread is what is known of one. It is made at the first record of a thread and dropped at
// its end, or a long run would keep all.
type thread struct {
	tid            int
	mem            memory
	data           []byte   // of mem
	signals        []signal // to be shown when their time has come
	program, words string   // what it executes, the arguments with their NULs
	direct         bool     // no interpreter comes before it
	fatal          []signal // sent, which will be shown if one ends the process
	nr             int      // of the last call
	comm           string   // its name when the last call began, if that is asked for
	waiting
	noted
}

// A signal is one that waits for its line: when it came, and its siginfo.
type signal struct {
	at   int64
	info []byte
}

func (g *signal) number() int { return int(u32(g.info, 0)) }

// NewSink makes a sink that writes lines to w, and passes on messages to rest. The offset
// between the clocks is taken once: lines of a run keep their order even if somebody sets the
// clock of the wall.
func NewSink(w io.Writer, rest output.Sink, o *Options) *Sink {
	var boot unix.Timespec
	unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot)
	s := &Sink{decoder: newDecoder(o, o.Arch), w: bufio.NewWriterSize(w, 1<<16), to: rest,
		threads: map[int]*thread{}, live: map[int]bool{}, offset: time.Now().UnixNano() - boot.Nano()}
	for _, t := range o.Threads {
		s.live[t] = true
	}
	return s
}

// Write takes an item. Lost events are a line among the others, where they were lost.
func (s *Sink) Write(item output.Item) error {
	if lost, ok := item.(output.Lost); ok && !s.o.JSON {
		s.cut()
		s.b = append(s.b[:0], fmt.Sprintf("+++ %d events lost +++", lost.Events)...)
		s.direct = true
		s.line()
		s.direct = false
		return s.err
	}
	if snap, ok := item.(*output.Snap); ok {
		s.record(snap)
		return s.err
	}
	switch it := item.(type) {
	case output.Print:
		if s.note(it.Value) {
			return s.err
		}
	case output.Map:
		if s.take(it) {
			return nil
		}
	case output.Attached:
		s.underWay()
	case output.End:
		s.detached()
		s.release(func(int) bool { return true })
		s.writeSummary()
	}
	return s.to.Write(item)
}

// Idle writes out what is due. The session calls it when no records are waiting: so calls that
// wait are begun although nothing happens.
func (s *Sink) Idle() error {
	if len(s.held) > 0 {
		var boot unix.Timespec
		unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot)
		s.overdue(boot.Nano())
	}
	if err := s.w.Flush(); err != nil {
		return err
	}
	return s.to.Idle()
}

// Flush writes out everything.
func (s *Sink) Flush() error {
	if err := s.w.Flush(); err != nil {
		return err
	}
	for _, w := range s.apart {
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return s.to.Flush()
}

// Escapes says what the sink of messages escapes.
func (s *Sink) Escapes() output.Escapes { return s.to.Escapes() }

// thread looks at the last one first, since records of one thread mostly follow each other.
func (s *Sink) thread(tid int) *thread {
	if s.recent != nil && s.recent.tid == tid {
		return s.recent
	}
	t, ok := s.threads[tid]
	if !ok {
		t = &thread{tid: tid}
		s.threads[tid] = t
		s.live[tid] = true
	}
	s.recent = t
	return t
}

// record takes a record of the script's programs: parts of memory first, then the call that they
// belong to.
func (s *Sink) record(r *output.Snap) {
	word := r.Integer
	tid := int(word(1))
	kind := word(0)
	th := s.thread(tid)
	// Anything else that the thread does shows that it has gone on, and so that its call has
	// ended.
	if th.restarts != nil && kind != recordEnd && kind != recordSent && !(kind == recordSignal && word(3) == sigKill) {
		s.returned(th, th.restarts)
	}
	switch kind {
	case recordEarly, recordLate, recordWaiting:
		th.add(uint64(word(2)), r.Bytes, kind)
	case recordCall, recordCut, recordWaits:
		c := &Call{TID: tid, PID: int(word(2)), Nr: int(word(3)), Enter: word(4), Exit: word(5),
			Result: word(6), Unfinished: kind == recordCut}
		for i := range c.Args {
			c.Args[i] = uint64(word(7 + i))
		}
		if kind == recordWaits {
			s.waits(th, c)
			break
		}
		// Copies that were made while the call waited are made anew when it returns.
		th.mem = slices.DeleteFunc(th.mem, func(m chunk) bool { return m.brief })
		// The record of the call itself carries a piece, which spares a record for most calls.
		if len(r.Bytes) > 0 {
			th.mem = append(th.mem, chunk{addr: uint64(word(13)), data: r.Bytes})
		}
		c.mem, c.noted = th.mem, &th.noted
		if th.program != "" {
			c.exec(th)
			th.program = ""
		}
		s.overdue(c.Exit)
		if _, restarts := restarts[c.Result]; restarts && !c.Unfinished {
			s.restart(th, c)
			break
		}
		s.returned(th, c)
	case recordEnd:
		s.endless(th, int(word(3)), int(word(4)))
		s.due(th, 1<<62)
		s.last(th, int(word(3)), int(word(4)))
		s.cut()
		s.release(func(of int) bool { return of == tid })
		s.direct = true
		s.end(th, int(word(3)), word(2))
		s.direct = false
		if w := s.apart[tid]; w != nil {
			s.err = errors.Join(w.Flush(), w.file.Close())
			delete(s.apart, tid)
		}
		delete(s.threads, tid)
		delete(s.live, tid)
		s.recent = nil
	case recordSignal, recordSent:
		s.signalled(th, r, kind == recordSignal)
	case recordResumed:
		// A thread that began later has no call from before.
		if slices.Contains(s.o.Threads, tid) {
			s.resumed(th, &Call{TID: tid, Nr: int(word(2)), Result: word(3), Exit: word(4)})
		}
	case recordProgram:
		th.program, th.direct = string(bytes.TrimSuffix(r.Bytes, []byte{0})), word(2) != 0
	case recordWords:
		th.words = string(r.Bytes)
	case recordFile, recordMade:
		th.name(kind, word(2), string(bytes.TrimSuffix(r.Bytes, []byte{0})))
	case recordSocket, recordDevice, recordPointer:
		th.further(kind, r)
	case recordNetlink:
		th.netlink = word(2) + 1
	case recordFork:
		if s.o.Alone {
			break
		}
		s.live[int(word(2))] = true
	}
}

// exec puts what a program was executed as in place of what was not in memory before. Of the
// arguments that is known if no interpreter was put in front of them.
func (c *Call) exec(t *thread) {
	words := strings.Split(strings.TrimSuffix(t.words, "\x00"), "\x00")
	array, _ := c.mem.at(c.Args[1], 4096, true)
	for i := range c.mem {
		m := &c.mem[i]
		if !m.lost {
			continue
		}
		if m.addr == c.Args[0] {
			*m = chunk{addr: m.addr, data: append([]byte(t.program), 0), early: true}
			continue
		}
		for at := 0; t.direct && m.lost && at+8 <= len(array) && at/8 < len(words); at += 8 {
			if u64(array, at) == m.addr {
				*m = chunk{addr: m.addr, data: append([]byte(words[at/8]), 0), early: true}
			}
		}
	}
}

// add keeps bytes of the thread's memory until its call is shown. The bytes of a record are the
// reader's, which uses them again.
func (t *thread) add(addr uint64, data []byte, record int64) {
	at := len(t.data)
	t.data = append(t.data, data...)
	t.mem = append(t.mem, chunk{addr: addr, data: t.data[at:len(t.data):len(t.data)],
		early: record != recordLate, brief: record == recordWaiting, lost: data == nil})
}

// signalled notes a signal that was sent or delivered. A signal that is sent is shown only if it
// is ignored or ends the process: strace sees those that are delivered, which have a record of
// their own.
func (s *Sink) signalled(th *thread, r *output.Snap, delivered bool) {
	const ignored, already, fromKernel = 1, 2, 1
	info := bytes.Clone(r.Bytes)
	if len(info) < 48 { // the kernel has nothing to say but who it was
		// Without a siginfo the kernel says no more than SI_USER or SI_KERNEL.
		code := uint32(0)
		if r.Integer(5) == fromKernel {
			code = 0x80
		}
		info = make([]byte, 48)
		binary.NativeEndian.PutUint32(info, uint32(r.Integer(3)))
		binary.NativeEndian.PutUint32(info[8:], code)
		binary.NativeEndian.PutUint32(info[16:], uint32(r.Integer(6)))
		binary.NativeEndian.PutUint32(info[20:], uint32(r.Integer(7)))
	}
	sig := signal{r.Integer(2), info}
	switch result := r.Integer(4); {
	case sig.number() == sigKill: // is never shown
	case delivered:
		th.signals = append(th.signals, sig)
		s.due(th, 1<<62)
		if n := sig.number(); n >= sigStop && n <= sigStop+3 && result != 0 {
			s.stopped(th, sig)
		}
	case result == ignored:
		th.signals = append(th.signals, sig)
	case result != already:
		// A process that ignores what it is sent, for hours, must not make this grow.
		if th.fatal = append(th.fatal, sig); len(th.fatal) > 8 {
			th.fatal = th.fatal[1:]
		}
	}
}

// last shows the signal that ends a process, which it was sent, or its first thread. The signal
// may have been sent to any thread of the process, and another one may end last.
func (s *Sink) last(t *thread, code, pid int) {
	for _, th := range []*thread{t, s.threads[pid]} {
		if th == nil {
			continue
		}
		for _, sig := range th.fatal {
			if sig.number() == code&0x7f {
				s.show(t, sig)
				return
			}
		}
	}
}

// due shows signals of a thread that came before a moment. Signals wait for the end of the call
// that they came in, since strace stops there.
func (s *Sink) due(th *thread, before int64) {
	for len(th.signals) > 0 && th.signals[0].at <= before {
		sig := th.signals[0]
		th.signals = th.signals[1:]
		s.show(th, sig)
	}
}

// show writes the line of a signal.
func (s *Sink) show(th *thread, sig signal) {
	th.fatal = slices.DeleteFunc(th.fatal, func(g signal) bool { return g.number() == sig.number() })
	if !s.o.Signal(signalName(sig.number())) {
		return
	}
	if s.o.JSON {
		s.happened("signal", th.tid, sig.at)
		s.str(`, "signal": "SIG` + signalName(sig.number()) + `", "text": `)
		at := len(s.b)
		s.siginfo(sig.info)
		text := slices.Clone(s.b[at:])
		s.b = value.AppendJSONString(s.b[:at], text)
		s.str("}}")
		s.line()
		return
	}
	s.begin(th.tid, sig.at)
	s.noHead(th)
	s.str("--- ")
	s.whole = true // -X leaves this one as it is
	s.signal(sig.number())
	s.whole = false
	s.str(" ")
	s.siginfo(sig.info)
	s.str(" ---")
	s.line()
}

// stopped says that a signal has stopped a thread.
func (s *Sink) stopped(th *thread, sig signal) {
	if s.o.JSON || !s.o.Signal(signalName(sig.number())) {
		return
	}
	s.begin(th.tid, sig.at)
	s.noHead(th)
	s.whole = true
	s.str("--- stopped by ").signal(sig.number())
	s.whole = false
	s.str(" ---")
	s.line()
}

// begin begins a line. Numbers of threads are shown only where there are several, unless the
// output is a file: strace decides by the same.
func (s *Sink) begin(tid int, at int64) {
	s.cut()
	s.b, s.writing = s.b[:0], tid
	switch {
	case s.o.Separate != "":
	case s.o.ToFile && !s.o.Alone:
		at := len(s.b)
		s.int(int64(tid))
		for !s.o.Tight && len(s.b) < at+5 {
			s.b = append(s.b, ' ')
		}
		s.str(" ")
	case !s.o.ToFile && (len(s.live) > 1 || s.o.All):
		width := 5
		if s.o.Tight {
			width = 0
		}
		s.str(fmt.Sprintf("[pid %*d] ", width, tid))
	}
	s.moment(at)
}

// moment appends when a line's event was. Times are those when calls began, as in strace,
// although lines are written when they return.
func (s *Sink) moment(at int64) {
	// Records have the boot clock, which goes on in suspend: clocks of the wall are made of it
	// here alone.
	wall := at + s.offset
	if s.o.Relative {
		d := at - s.before
		if s.before == 0 {
			d = 0
		}
		s.before = at
		width := 6
		if s.o.Tight {
			width = 3
		}
		s.str(fmt.Sprintf("%*d", width, d/1e9))
		s.fraction(d, s.o.RelativeDigits)
		s.str(" ")
		if s.o.Times == 0 {
			return
		}
		s.str("(+) ")
	}
	switch {
	case s.o.Times == 0:
		return
	case s.o.Times < 3:
		s.b = time.Unix(0, wall).AppendFormat(s.b, time.TimeOnly)
	default:
		s.int(wall / 1e9)
	}
	s.fraction(wall, s.o.TimesDigits)
	s.str(" ")
}

// took appends how long a call took.
func (s *Sink) took(c *Call) {
	s.str(" <")
	s.int((c.Exit - c.Enter) / 1e9)
	s.fraction(c.Exit-c.Enter, s.o.TookDigits)
	s.str(">")
}

// fraction appends so many digits of what a time is beyond whole seconds.
func (s *Sink) fraction(ns int64, digits int) {
	if digits > 0 {
		s.str(fmt.Sprintf(".%09d", ns%1e9)[:1+digits])
	}
}

// line ends a line.
func (s *Sink) line() {
	if s.o.CSV {
		row := []byte(nil)
		if !s.headed {
			row, s.headed = appendHeader(row), true
		}
		s.b = appendRow(row, s.b)
	}
	s.b = append(s.b, '\n')
	s.write()
}

// write writes a line, or what is known of one, if none but the last ones are asked for.
func (s *Sink) write() {
	if s.o.Last > 0 && !s.direct {
		s.keep()
		return
	}
	s.put(s.b)
}

// put keeps an error until Write returns it: lines come from many places.
func (s *Sink) put(line []byte) {
	w, err := s.writer()
	if err == nil {
		_, err = w.Write(line)
	}
	if err != nil {
		s.err = err
	}
}

// call shows a call that is over.
func (s *Sink) call(th *thread, c *Call) {
	th.nr = c.Nr
	if !s.o.shows(c) || c.Exit-c.Enter < s.o.Least {
		return
	}
	if s.o.JSON {
		s.object(c)
		return
	}
	// A line that was begun goes on if nothing was written behind it; else the call is taken up
	// in a new one.
	before := 0 // characters that the line has already
	switch {
	case th.begun && s.open == th:
		before, s.open, s.b = th.column, nil, s.b[:0]
		s.rest(c)
	case th.begun:
		s.begin(c.TID, c.Exit)
		s.head(c)
		s.str("<... " + s.decoder.call(c.Nr).name + " resumed>")
		s.rest(c)
	default:
		s.begin(c.TID, c.Enter)
		s.head(c)
		s.decode(c)
		if !s.wanted() {
			return
		}
	}
	// A call that never returned has written nothing.
	if c.Unfinished && s.mark < len(s.b) {
		s.b = append(s.b[:s.mark], " <unfinished ...>"...)
	}
	s.str(")")
	s.answer(c, before)
	if s.o.Took && !c.Unfinished {
		s.took(c)
	}
	s.line()
	s.dump(c)
	s.frames(c, 0, 0)
}

// rest appends the arguments and the result that a call has only when it has returned. The
// arguments in front are decoded once more and thrown away, as the line that was begun has them.
func (s *Sink) rest(c *Call) {
	at := len(s.b)
	s.decode(c)
	s.b = append(s.b[:at], s.b[s.mark:]...)
	s.mark = at
}

// resumed shows a call that was under way when tracing began. Its beginning was not traced; what
// /proc said of it is at hand if nothing came in between.
func (s *Sink) resumed(th *thread, c *Call) {
	if th.now != nil && th.now.Enter == 0 && th.now.Nr == c.Nr {
		c.Args = th.now.Args // what was written is not known
		s.call(th, c)
	} else {
		s.begin(c.TID, c.Exit)
		s.c, s.of, s.own, s.after = c, s.decoder.call(c.Nr), nil, nil
		s.str("<... " + s.of.name + " resumed>)")
		s.answer(c, 0)
		s.line()
	}
	s.forget(th)
	th.mem = nil
}

// restarts are results that the kernel keeps to itself. strace stops a thread before the kernel
// turns them into EINTR or starts the call again.
var restarts = map[int64]string{
	-512: "ERESTARTSYS (To be restarted if SA_RESTART is set)", -513: "ERESTARTNOINTR (To be restarted)",
	-514: "ERESTARTNOHAND (To be restarted if no handler)",
	-516: "ERESTART_RESTARTBLOCK (Interrupted by signal)",
}

// answer appends what a call came to in its column. written is how much of the line is out already.
func (s *Sink) answer(c *Call, written int) {
	s.str(" ")
	for written+len(s.b) < s.o.Column {
		s.b = append(s.b, ' ')
	}
	s.str("= ")
	s.outcome(c)
}

// outcome appends what a call came to. Errors have the text of strerror(), whatever the locale
// is.
func (s *Sink) outcome(c *Call) {
	switch {
	case c.Unfinished || s.of.result == "?":
		s.str("?")
	case c.failed():
		if text, ok := restarts[c.Result]; ok {
			s.str("? " + text)
			break
		}
		n := int(-c.Result)
		s.str("-1 " + errorName(n) + " (" + errno.Text(n) + ")")
	case s.o.isRaw(s.of):
		s.hex(uint64(c.Result))
	case len(s.own) > 0 && string(s.own) != "fd":
		// The arguments have made this text, by result or ownResult.
		s.b = append(s.b, s.own...)
	case s.of.result == "o":
		s.octal(uint64(c.Result))
	case s.of.result == "fd" || string(s.own) == "fd":
		s.fd(uint64(c.Result), atExit)
	case s.of.result == "p":
		s.hex(uint64(c.Result))
	case s.of.result == "personality":
		s.hex(uint64(c.Result))
		s.meaning(uint64(c.Result))
	default:
		s.int(c.Result)
		s.meaning(uint64(c.Result))
	}
	s.b = append(s.b, s.after...)
}

// meaning appends, behind a result, what it stands for.
func (s *Sink) meaning(v uint64) {
	at, kind := len(s.b), s.of.result
	s.str(" (")
	switch {
	case kind == "personality":
		s.personality(v)
	case kind == "sig":
		s.signal(int(v))
	case kind == "ioprio":
		s.number(arg{kind: kind}, v)
	case kind == "time":
		s.b = time.Unix(int64(v), 0).AppendFormat(s.b, "2006-01-02T15:04:05-0700")
	case (kind == "time_state" || kind == "sched") && s.isNamed(kind, v):
		s.enum(kind, v)
	default:
		s.b = s.b[:at]
		return
	}
	s.str(")")
}

// errorName is the name of an error. ENOTSUP is the other one. Numbers without a name are the
// kernel's own, from 512 on.
func errorName(n int) string {
	if n == int(unix.EOPNOTSUPP) { // has two names, of which calls mean this one
		return "EOPNOTSUPP"
	}
	if names := errno.Names(); n < len(names) && names[n] != strconv.Itoa(n) {
		return names[n]
	}
	return "E" + strconv.Itoa(n)
}

// end says that a thread has ended. The code is as wait() has it.
func (s *Sink) end(th *thread, code int, at int64) {
	// -qq leaves out ends, -q alone messages that hawk does not have.
	if s.o.Quiet > 1 || s.o.silent("exit") {
		return
	}
	if s.o.JSON {
		s.happened("exit", th.tid, at)
		if sig := code & 0x7f; sig != 0 {
			s.str(`, "signal": "SIG` + signalName(sig) + `"}}`)
		} else {
			s.str(`, "code": ` + strconv.Itoa(code>>8&0xff) + "}}")
		}
		s.line()
		return
	}
	s.begin(th.tid, at)
	s.noHead(th)
	if sig := code & 0x7f; sig != 0 {
		s.str("+++ killed by ")
		s.signal(sig)
		if code&0x80 != 0 {
			s.str(" (core dumped)")
		}
	} else {
		s.str("+++ exited with ")
		s.int(int64(code >> 8 & 0xff))
	}
	s.str(" +++")
	s.line()
}
