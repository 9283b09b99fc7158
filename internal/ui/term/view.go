package term

import (
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/export"
	"github.com/hawktrace/hawk/internal/ui/glyph"
	"github.com/hawktrace/hawk/internal/ui/live"
	"github.com/hawktrace/hawk/internal/ui/tty"
	"github.com/hawktrace/hawk/internal/view"
	"github.com/hawktrace/hawk/internal/view/history"
)

// Options say how a run is shown.
type Options struct {
	Theme       string // dark, light, mono; "" or auto: as the terminal is
	ASCII       bool
	NoMouse     bool
	Guarded     bool // as in tty.Options
	ExitWithRun bool
	Version     string // of hawk, for files
	History     history.Options
	Cadence     *view.Cadence
	Maps        []*view.Map // that come first; nil: as the script has them
}

// A View shows a run in a terminal. It is a feed. Three goroutines: the run's calls Take, one reads
// keys, one draws; a fourth saves a file when asked to. The state has a lock; the model belongs to the one that draws.
type View struct {
	*live.State
	o      Options
	script *view.Script
	model  *Model
	term   *tty.Terminal
	stop   func() // ends the run

	keys    chan tty.Key
	signals chan os.Signal
	said    chan string // by Say
	saved   chan string // what has come of saving
	saving  bool        // a file is being saved; the loop's
	files   sync.WaitGroup
	leaving chan struct{} // closed when the view is to be left
	left    chan struct{} // closed when it was
	once    sync.Once
	ended   chan struct{} // closed when the run is over

	output *Lines // of a command; nil: there is none

	mu     sync.Mutex
	failed error // the view itself
	notes  strings.Builder
}

// New makes a view of a script.
func New(script *view.Script, o Options) *View {
	// Some room is there for keys and signals that come while a picture is drawn.
	v := &View{
		State: live.New(o.History), o: o, script: script, keys: make(chan tty.Key, 64),
		signals: make(chan os.Signal, 8), said: make(chan string, 1), saved: make(chan string, 1),
		leaving: make(chan struct{}), left: make(chan struct{}),
		ended: make(chan struct{}),
	}
	v.State.Cadence = o.Cadence
	return v
}

// Command takes what a command prints, which gets a pane.
func (v *View) Command() io.Writer {
	v.output = &Lines{}
	return v.output
}

// Open takes the terminal over and begins to draw. stop ends the run.
func (v *View) Open(out *os.File, env func(string) string, stop func()) error {
	theme := Theme{Light: v.o.Theme == "light", ASCII: v.o.ASCII || limited(env)}
	auto := v.o.Theme == "" || v.o.Theme == "auto"
	if auto { // the color of the background is the last of COLORFGBG
		if i := strings.LastIndexByte(env("COLORFGBG"), ';'); i >= 0 {
			// 7 and 15 are the two whites of 16 colours.
			theme.Light = env("COLORFGBG")[i+1:] == "7" || env("COLORFGBG")[i+1:] == "15"
		}
	}
	t, err := tty.Open(out, env, tty.Options{NoMouse: v.o.NoMouse, Ask: auto, Mono: v.o.Theme == "mono",
		Guarded: v.o.Guarded})
	if err != nil {
		return err
	}
	// Sixteen colours are too few for the steps of a heat map.
	theme.Shades = t.Depth < tty.Colors256
	v.term, v.stop = t, stop
	v.model = NewModel(v.State, v.script, v.o.Maps, theme)
	if v.output != nil {
		v.model.SetOutput(v.output)
	}
	// From here on the terminal has to be given back, whatever ends the process.
	v.catch()
	v.NameStacks(v.leaving, v.named)
	go v.read()
	go v.loop()
	return nil
}

// Take takes an item of the run. If the view itself fails at it, the run ends in order.
func (v *View) Take(item view.Item) error {
	defer v.guard()
	return v.State.Take(item)
}

// Write takes messages that would go to standard error, which is the terminal's. They
// are kept for when the terminal is free.
func (v *View) Write(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	// Somebody who says the same forever does not fill memory.
	if v.notes.Len() < 1<<20 {
		v.notes.Write(p)
	}
	return len(p), nil
}

// Say shows a message until a key is pressed, and keeps it as Write does.
func (v *View) Say(text string) {
	v.Write([]byte(text + "\n"))
	select {
	case v.said <- text:
	default: // several at once
	}
}

// Ended says that the run is over, and waits until the view is left.
func (v *View) Ended() {
	close(v.ended)
	if v.o.ExitWithRun {
		v.leave()
	}
	<-v.left
}

// Close leaves the view and the terminal as it was found, and returns what was to be
// written to standard error meanwhile, and how the view itself failed.
func (v *View) Close() (messages string, err error) {
	v.leave()
	<-v.left
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.notes.String(), v.failed
}

// leave has the view be left, once.
func (v *View) leave() { v.once.Do(func() { close(v.leaving) }) }

// guard ends the view if it has panicked.
func (v *View) guard() {
	if what := recover(); what != nil {
		// The terminal is restored first, so that the report is readable.
		v.term.Restore()
		v.mu.Lock()
		v.failed = fmt.Errorf("the terminal view failed: %v\n%s", what, debug.Stack())
		v.mu.Unlock()
		v.leave()
		v.stop()
	}
}

// read reads keys until the terminal is gone.
func (v *View) read() {
	defer v.guard()
	v.term.Keys(func(k tty.Key) {
		select {
		case v.keys <- k:
		case <-v.leaving:
		}
	})
	// Reading ends with the view itself, too: gone knows by leaving.
	v.gone()
}

// gone ends the run and the view: nobody sees it any more.
func (v *View) gone() {
	select {
	case <-v.leaving:
	default:
		v.leave()
		v.stop()
	}
}

// loop draws and acts on keys and signals until the view is left.
func (v *View) loop() {
	// These run backwards: the terminal is restored before anybody hears that the view was left.
	defer close(v.left)
	defer v.files.Wait() // a file that was asked for is whole
	defer v.term.Close()
	defer signal.Stop(v.signals)
	defer v.guard()
	runtime.LockOSThread() // so that the time of a processor can be told
	defer runtime.UnlockOSThread()
	v.draw()
	for {
		select {
		case <-v.leaving:
			return
		case <-v.Wake():
		case k := <-v.keys:
			v.key(k)
			for len(v.keys) > 0 { // one picture for many keys
				v.key(<-v.keys)
			}
		case sig := <-v.signals:
			v.signal(sig)
		case text := <-v.saved:
			v.saving = false
			v.model.Note(text)
		case text := <-v.said:
			v.model.Note(glyph.Safe(text))
		}
		v.draw()
	}
}

// draw draws the picture, which counts as part of the budget.
func (v *View) draw() {
	begin := spent()
	w, h := v.term.Size()
	// A terminal that takes nothing any more is gone.
	if v.term.Show(v.model.Draw(w, h)) != nil {
		v.gone()
	}
	// Looks become rarer if they and drawing cost too much together.
	if c := v.State.Cadence; c != nil {
		c.Spent(spent() - begin)
	}
}

// named finds names of stacks, which counts as part of the budget.
func (v *View) named(find func()) {
	defer v.guard()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begin := spent()
	find()
	if c := v.State.Cadence; c != nil {
		c.SpentOnStacks(spent() - begin)
	}
}

// spent is the time of a processor that this thread has had.
func spent() time.Duration {
	// The clock of the thread leaves out waiting for a processor.
	var ts unix.Timespec
	unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts)
	return time.Duration(ts.Nano())
}

// key acts on a key, as far as it is about more than what is looked at.
func (v *View) key(k tty.Key) {
	if k.Code == tty.Background {
		v.model.Theme.Light = k.Rune == 'l'
		return
	}
	switch v.model.Key(k) {
	case Quit:
		v.leave()
		v.stop()
	case EndRun:
		select {
		// After the end of the run the same key leaves the view.
		case <-v.ended:
			v.leave()
		default:
			v.stop()
			v.model.Note("the run is ending; q quits")
		}
	case Suspend:
		v.suspend(0)
	case Redraw:
		v.term.Forget()
	case SaveHTML:
		v.save(export.HTML, v.results())
	case SaveCSV:
		v.saveCSV()
	case Copy:
		if text := v.model.Selected(); text != "" {
			// OSC 52 sets the clipboard, also of a terminal at the other end of ssh; many ask or
			// refuse.
			v.term.Send("\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(text)) + "\x1b\\")
			v.model.Note("copied, if the terminal allows it")
		}
	}
}

// results are the maps that are no state.
func (v *View) results() (maps []*view.Map) {
	for _, m := range v.script.Maps {
		if m.Role == view.Result {
			maps = append(maps, m)
		}
	}
	return maps
}

// saveCSV writes the map of the focused pane, or the events.
func (v *View) saveCSV() {
	// Without a map the table is that of events.
	var maps []*view.Map
	if p := v.model.focused(); p.m != nil {
		maps = []*view.Map{p.m}
	}
	v.save(export.CSV, maps)
}

// save writes a file of the run so far into the working directory, beside the loop: much is added up and named for it,
// and keys and signals do not wait for that.
func (v *View) save(f *export.Format, maps []*view.Map) {
	if v.saving {
		v.model.Note("another file is still being saved")
		return
	}
	v.saving = true
	v.model.Note("saving …")
	v.files.Add(1)
	go func() {
		defer v.files.Done()
		defer v.guard()
		v.saved <- v.write(f, maps)
	}()
}

// write makes the file, and says what has come of it.
func (v *View) write(f *export.Format, maps []*view.Map) (note string) {
	base := strings.TrimSuffix(filepath.Base(v.script.Name), ".bt")
	// The name of a script may have anything in it that a file name must not have.
	base = strings.Map(func(r rune) rune {
		if strings.ContainsRune("/.-_", r) || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, base)
	if f.Takes.One() && len(maps) == 1 {
		base += "." + strings.Trim(maps[0].Name, "@")
	}
	name := fmt.Sprintf("hawk-%s-%s.%s", base, time.Now().Format("20060102-150405"), f.Ext)
	// It never replaces a file, nor follows a link that somebody has put there.
	out, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err == nil {
		err = f.Write(out, v.Run(), maps, export.Options{Version: v.o.Version})
		if end := out.Close(); err == nil {
			err = end
		}
	}
	if err != nil {
		return "not saved: " + glyph.Safe(err.Error())
	}
	return "saved as " + name
}

// fatal are signals that end a program of Go with a report on the terminal, unless they
// are caught.
var fatal = []os.Signal{unix.SIGQUIT, unix.SIGILL, unix.SIGTRAP, unix.SIGABRT, unix.SIGSTKFLT, unix.SIGSYS,
	unix.SIGBUS, unix.SIGFPE, unix.SIGSEGV}

// catch has signals come to the view.
func (v *View) catch() {
	signal.Notify(v.signals, unix.SIGWINCH, unix.SIGTSTP, unix.SIGCONT, unix.SIGTERM, unix.SIGHUP, unix.SIGINT)
	signal.Notify(v.signals, fatal...)
	// The command has given SIGQUIT its default action behind the runtime's back.
	var action [4]uint64
	sigaction(unix.SIGTERM, nil, &action)
	sigaction(unix.SIGQUIT, &action, nil)
}

// sigaction sets and reads what a signal does: the kernel's struct, which begins with the
// handler.
func sigaction(sig unix.Signal, set, get *[4]uint64) {
	// 8 is the size of a set of signals in the kernel.
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(get)),
		8, 0, 0)
}

// signal acts on a signal.
func (v *View) signal(sig os.Signal) {
	switch sig {
	case unix.SIGWINCH:
		// A change of size leaves the screen in a state that nobody knows.
		v.term.Forget()
	case unix.SIGTSTP:
		// Somebody stops this process; ^Z stops the whole group, as shells expect.
		v.suspend(os.Getpid())
	case unix.SIGCONT:
		v.resume()
	case unix.SIGTERM, unix.SIGHUP: // the run ends, too, as it gets the same
		v.leave()
	case unix.SIGINT:
		select {
		case <-v.ended:
			v.leave()
		default:
		}
	default:
		// The default action ends the process with a report, for which the screen is made ready.
		v.term.Restore()
		sigaction(sig.(unix.Signal), new([4]uint64), nil)
		unix.Kill(os.Getpid(), sig.(unix.Signal))
		select {} // for a moment
	}
}

// patience is how long a stop may take to come about. It does not where nobody could have
// the process go on.
const patience = 200 * time.Millisecond

// suspend gives the terminal back and stops the process, or with 0 its whole group, until
// it is told to go on.
func (v *View) suspend(pid int) {
	v.term.Restore()
	var caught [4]uint64 // the runtime's handler, which stays once a signal was asked for
	sigaction(unix.SIGTSTP, new([4]uint64), &caught)
	unix.Kill(pid, unix.SIGTSTP)
	timeout := time.After(patience)
	for waiting := true; waiting; {
		select {
		case sig := <-v.signals:
			// Another signal ends the waiting, a change of size does not.
			if waiting = sig != unix.SIGCONT; waiting && sig != unix.SIGWINCH {
				v.signal(sig)
				waiting = false
			}
		case <-timeout:
			waiting = false
		}
	}
	sigaction(unix.SIGTSTP, &caught, nil)
	v.resume()
}

// resume takes the terminal over again.
func (v *View) resume() {
	select {
	// A terminal that was given back for good is not taken again.
	case <-v.leaving:
	default:
		if v.term.Take() != nil {
			v.gone()
		}
	}
}

// A Tail keeps what is written to it from a moment on.
type Tail struct {
	mu   sync.Mutex
	on   bool
	text [][]byte // in pieces: one that grows would be copied, and take room twice meanwhile
	size int
	left int // bytes behind that, which are not kept
}

// tailBytes bounds what a Tail keeps.
const (
	tailBytes = 64 << 20
	tailPiece = 64 << 10
)

// Begin has it keep what comes.
func (t *Tail) Begin() {
	t.mu.Lock()
	t.on = true
	t.mu.Unlock()
}

// Write takes output.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.on {
		return len(p), nil
	}
	// The writer is a script's output, which neither waits nor fills memory. There are no holes: behind what does not
	// fit nothing is kept.
	if t.left > 0 || t.size+len(p) > tailBytes {
		t.left += len(p)
		return len(p), nil
	}
	t.size += len(p)
	last := len(t.text) - 1
	if last < 0 || len(t.text[last])+len(p) > cap(t.text[last]) {
		t.text, last = append(t.text, make([]byte, 0, max(tailPiece, len(p)))), last+1
	}
	t.text[last] = append(t.text[last], p...)
	return len(p), nil
}

// Left says how much was not kept, or is "".
func (t *Tail) Left() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.left == 0 {
		return ""
	}
	return fmt.Sprintf("%d bytes of what the script printed at its end are left out: views keep %d MiB of it for the "+
		"terminal behind them", t.left, tailBytes>>20)
}

// WriteTo writes what was kept.
func (t *Tail) WriteTo(w io.Writer) (all int64, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, piece := range t.text {
		n, err := w.Write(piece)
		all += int64(n)
		if err != nil {
			return all, err
		}
	}
	return all, nil
}
