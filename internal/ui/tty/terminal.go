package tty

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A Terminal is the one that hawk runs in, taken over for a view.
type Terminal struct {
	Screen
	in, out *os.File
	mouse   bool
	guarded bool
	ask     bool // which color the background has

	mu    sync.Mutex
	was   unix.Termios // before
	taken bool
	guard *os.File // what is said to the guard; nil: there is none
}

// escapeTime is how long the rest of a sequence may take to come after an escape.
const escapeTime = 50 * time.Millisecond

// Options say how a terminal is used.
type Options struct {
	NoMouse bool // clicks stay the terminal's
	Ask     bool // for the color of the background
	Mono    bool
	Guarded bool // by a process of its own: main calls Guard when it is started as GuardName
}

// Usable reports why a file is no terminal that a view can be drawn on, given TERM.
func Usable(f *os.File, term string) error {
	if _, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS); err != nil {
		return errors.New("the output is no terminal")
	}
	if term == "" || term == "dumb" {
		return errors.New("TERM says that the terminal moves no cursor")
	}
	return nil
}

// Open takes a terminal over. env is the environment.
func Open(out *os.File, env func(string) string, o Options) (*Terminal, error) {
	// Keys come from the terminal that is drawn on, whatever standard input is.
	in, err := os.OpenFile("/proc/self/fd/"+strconv.Itoa(int(out.Fd())), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil { // it belongs to somebody else
		if in, err = os.OpenFile("/dev/tty", os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
			return nil, err
		}
	}
	t := &Terminal{in: in, out: out, mouse: !o.NoMouse, guarded: o.Guarded, ask: o.Ask && env("TERM") != "linux"}
	t.Depth = depth(env)
	if o.Mono {
		t.Depth = Mono
	}
	was, err := unix.IoctlGetTermios(int(out.Fd()), unix.TCGETS)
	if err != nil {
		in.Close()
		return nil, err
	}
	t.was = *was
	if err := t.Take(); err != nil {
		in.Close()
		return nil, err
	}
	return t, nil
}

// depth is how many colors the environment says there are.
func depth(env func(string) string) Depth {
	term := env("TERM")
	switch {
	case env("NO_COLOR") != "", strings.HasPrefix(term, "vt"), strings.HasSuffix(term, "-m"),
		strings.HasSuffix(term, "-mono"):
		return Mono
	case env("COLORTERM") == "truecolor", env("COLORTERM") == "24bit", strings.HasSuffix(term, "-direct"):
		return TrueColor
	case strings.Contains(term, "256color"):
		return Colors256
	}
	return Colors16
}

// Take puts the terminal into the state that views need: keys come at once and unseen,
// on a screen of its own.
func (t *Terminal) Take() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	raw := t.was
	// This is what cfmakeraw(3) does. Without ISIG, ^C is a key, and the view decides.
	raw.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL |
		unix.IXON
	raw.Oflag &^= unix.OPOST
	raw.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	raw.Cflag = raw.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(int(t.out.Fd()), unix.TCSETS, &raw); err != nil {
		return err
	}
	if t.guarded && t.guard == nil {
		// The kernel may keep less than what was set.
		if set, err := unix.IoctlGetTermios(int(t.out.Fd()), unix.TCGETS); err == nil {
			t.watch(set)
		}
	}
	t.tell(sayTaken)
	t.taken = true
	t.Forget()
	begin := "\x1b[?1049h\x1b[?25l\x1b[0m\x1b[2J"
	if t.mouse {
		begin += "\x1b[?1000h\x1b[?1006h"
	}
	// The answer comes as a key, and only once.
	if t.ask {
		begin += "\x1b]11;?\x1b\\"
		t.ask = false
	}
	_, err := t.out.WriteString(begin)
	return err
}

// Restore leaves the terminal as it was found. It may be called at any time, from any
// goroutine, more than once.
func (t *Terminal) Restore() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.taken {
		return
	}
	t.taken = false
	t.out.WriteString(ending(t.mouse))
	unix.IoctlSetInt(int(t.out.Fd()), unix.TCFLSH, unix.TCIFLUSH) // answers that nobody waits for
	unix.IoctlSetTermios(int(t.out.Fd()), unix.TCSETS, &t.was)
	t.tell(sayRestored)
}

// Close restores the terminal and ends reading.
func (t *Terminal) Close() {
	t.Restore()
	t.in.Close()
}

// Size is how many columns and lines there are.
func (t *Terminal) Size() (w, h int) {
	ws, err := unix.IoctlGetWinsize(int(t.out.Fd()), unix.TIOCGWINSZ)
	// Some pseudo-terminals have no size.
	if err != nil || ws.Col == 0 || ws.Row == 0 {
		return 80, 24
	}
	return int(ws.Col), int(ws.Row)
}

// Show draws a grid.
func (t *Terminal) Show(g *Grid) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	// Somebody else has the screen by now.
	if !t.taken {
		return nil
	}
	return t.write(t.Paint(g))
}

// Send writes a sequence as it is.
func (t *Terminal) Send(text string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.taken {
		return nil
	}
	return t.write([]byte(text))
}

func (t *Terminal) write(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	_, err := t.out.Write(p)
	return err
}

// Keys reads keys until the terminal is closed or gone, and hands them to f.
func (t *Terminal) Keys(f func(Key)) error {
	var d Decoder
	buf := make([]byte, 256)
	for {
		// An escape may be a key or begin a sequence, whose rest follows at once.
		if d.Open() {
			t.in.SetReadDeadline(time.Now().Add(escapeTime))
		} else {
			t.in.SetReadDeadline(time.Time{})
		}
		n, err := t.in.Read(buf)
		keys := d.Add(buf[:n])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			keys, err = append(keys, d.Flush()...), nil
		}
		for _, k := range keys {
			f(k)
		}
		if err != nil {
			return err
		}
	}
}
