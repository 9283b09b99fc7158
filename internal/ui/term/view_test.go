package term

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/ui/live/livetest"
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
