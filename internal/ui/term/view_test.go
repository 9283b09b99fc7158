package term

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/export"
	"github.com/hawktrace/hawk/internal/ui/live/livetest"
	"github.com/hawktrace/hawk/internal/ui/tty"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

// onTerminal is a view of the made-up run on a pseudo-terminal, which is read by somebody.
func onTerminal(t *testing.T) (v *View, line *os.File, stopped chan struct{}) {
	t.Helper()
	far, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { far.Close() })
	n, err := unix.IoctlGetInt(int(far.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(far.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		line, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { line.Close() })
	go func() {
		for buf := make([]byte, 4096); ; {
			if _, err := far.Read(buf); err != nil {
				return
			}
		}
	}()
	v = New(livetest.Script(), Options{Theme: "dark", Cadence: view.NewCadence(time.Second, 1)})
	stopped = make(chan struct{}, 8)
	return v, line, stopped
}

// TestHatched has time in which the machine slept be hatched in heat maps, lines and beside rows of tables.
func TestHatched(t *testing.T) {
	m, p := played(8, nil)
	at := livetest.Boot + 8*time.Second
	p.To.Take(view.Asleep{From: at, Boot: at + 700*time.Millisecond})
	p.Second()
	p.Second()
	if n := strings.Count(m.Draw(110, 40).Text(), "╱"); n < 8 {
		t.Errorf("%d cells are hatched in\n%s", n, m.Draw(110, 40).Text())
	}
	beside := 0
	for line := range strings.Lines(m.Draw(110, 40).Text()) {
		if strings.Contains(line, "postgres") && strings.Contains(line, hatch) {
			beside++
		}
	}
	if beside == 0 {
		t.Errorf("no row of a table is hatched in\n%s", m.Draw(110, 40).Text())
	}
	m.Theme.ASCII = true
	if text := m.Draw(110, 40).Text(); strings.Contains(text, "╱") {
		t.Error(text)
	}
}

// TestPanic has a view that fails give the terminal back, end the run and say why.
func TestPanic(t *testing.T) {
	v, line, stopped := onTerminal(t)
	before, err := unix.IoctlGetTermios(int(line.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	env := func(string) string { return "xterm" }
	if err := v.Open(line, env, func() { stopped <- struct{}{} }); err != nil {
		t.Fatal(err)
	}
	p := &livetest.Player{To: v}
	p.Begin()
	p.Second()
	v.Lock()
	v.model.panes = nil // nothing can be drawn any more
	v.Unlock()
	p.Second()
	p.End()
	v.Write([]byte("WARNING: kept\n"))
	v.Ended()
	messages, err := v.Close()
	if err == nil || !strings.Contains(err.Error(), "the terminal view failed: ") || messages != "WARNING: kept\n" {
		t.Errorf("the view ends with %v, and %q", err, messages)
	}
	select {
	case <-stopped:
	default:
		t.Error("the run goes on, though nobody sees it")
	}
	if after, _ := unix.IoctlGetTermios(int(line.Fd()), unix.TCGETS); *after != *before {
		t.Errorf("the terminal was %+v and is %+v", before, after)
	}
}

// TestSaving has keys and pictures go on while a file is being written, one file at a time. The file
// is whole before the view is left.
func TestSaving(t *testing.T) {
	t.Chdir(t.TempDir())
	v, line, stopped := onTerminal(t)
	if err := v.Open(line, func(string) string { return "xterm" }, func() { stopped <- struct{}{} }); err != nil {
		t.Fatal(err)
	}
	p := &livetest.Player{To: v}
	p.Begin()
	p.Second()
	begun, goOn := make(chan struct{}), make(chan struct{})
	slow := &export.Format{Ext: "slow", Write: func(w io.Writer, _ *view.Run, _ []*view.Map, _ export.Options) error {
		close(begun)
		<-goOn
		_, err := w.Write([]byte("whole"))
		return err
	}}
	v.Lock() // the loop does not draw meanwhile
	v.save(slow, nil)
	v.Unlock()
	<-begun
	v.keys <- tty.Key{Rune: 'S'}
	v.keys <- tty.Key{Rune: 'X'} // ends the run
	<-stopped
	v.keys <- tty.Key{Rune: 'q'}
	<-stopped
	select {
	case <-v.left:
		t.Error("the view was left before the file was written")
	default:
	}
	close(goOn)
	if _, err := v.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(".")
	if err != nil || len(files) != 1 {
		t.Fatalf("files are %v, %v", files, err)
	}
	if text, err := os.ReadFile(files[0].Name()); err != nil || string(text) != "whole" {
		t.Errorf("the file has %q, %v", text, err)
	}
}

// TestTail keeps what comes last as far as there is room, without holes, and counts the rest.
func TestTail(t *testing.T) {
	var tail Tail
	tail.Write([]byte("before"))
	tail.Begin()
	half := make([]byte, tailBytes/2)
	for _, p := range [][]byte{half, half[1:], half, half[:1]} {
		if n, err := tail.Write(p); n != len(p) || err != nil {
			t.Fatal(n, err)
		}
	}
	if n, err := tail.WriteTo(io.Discard); n != tailBytes-1 || err != nil {
		t.Errorf("%d bytes are kept, %v", n, err)
	}
	if tail.left != len(half)+1 || !strings.Contains(tail.Left(), fmt.Sprint(tailBytes>>20)) {
		t.Errorf("%d bytes are left out: %s", tail.left, tail.Left())
	}
}

// TestSevere has reports of a script say in words how severe they are, also where all events on the screen are reports
// of one place.
func TestSevere(t *testing.T) {
	m, p := played(2, nil)
	for _, builtin := range []string{"errorf", "warnf"} {
		site := &view.Site{Builtin: builtin, Args: []view.Element{{Name: "n"}}}
		for range 50 {
			p.To.Take(view.Event{Site: site, Boot: livetest.Boot, Text: []byte("bad 3"),
				Args: []value.Value{value.Int(3)}})
		}
		want := map[string]string{"errorf": "ERROR: bad 3", "warnf": "WARNING: bad 3"}[builtin]
		if text := m.Draw(110, 40).Text(); !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

// TestOneStack speaks of one stack as one.
func TestOneStack(t *testing.T) {
	m, p := played(0, nil)
	rows := []view.Row{{Key: value.Tuple{livetest.Stack("main"), value.Str("one")}, Value: value.Uint(9)}}
	p.To.Take(view.Snapshot{Map: livetest.Bytes, Seq: 1, Rows: view.RowsOf(rows), Totals: true, Complete: true,
		End: livetest.Boot})
	if text := m.Draw(120, 40).Text(); !strings.Contains(text, "  1 stack ") {
		t.Error(text)
	}
}

// TestLocale: boxes are drawn of ASCII where the locale says that there is nothing else.
func TestLocale(t *testing.T) {
	for _, tt := range []struct {
		env  map[string]string
		want bool
	}{
		{nil, false},
		{map[string]string{"LANG": "de_DE.UTF-8"}, false},
		{map[string]string{"LC_CTYPE": "UTF-8"}, false}, // of macOS
		{map[string]string{"LC_ALL": "C.utf8", "LANG": "C"}, false},
		{map[string]string{"LC_ALL": "C", "LANG": "de_DE.UTF-8"}, true},
		{map[string]string{"LC_CTYPE": "POSIX", "LANG": "de_DE.UTF-8"}, true},
		{map[string]string{"LANG": "de_DE@euro"}, true},
		{map[string]string{"LC_ALL": "", "LANG": "ru_RU.KOI8-R"}, true},
	} {
		if got := limited(func(name string) string { return tt.env[name] }); got != tt.want {
			t.Errorf("%v: %v", tt.env, got)
		}
	}
}
