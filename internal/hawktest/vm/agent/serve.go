package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/hawktest/vm/wire"
)

// serve runs the host's commands one after the other, until the VM is ended from outside: it
// returns with an error only.
func serve() error {
	port, err := openPort()
	if err != nil {
		return err
	}
	var uname unix.Utsname
	if err := unix.Uname(&uname); err != nil {
		return err
	}
	host := &conn{port: port}
	if err := host.send(wire.Ready, []byte(unix.ByteSliceToString(uname.Release[:]))); err != nil {
		return err
	}
	for {
		kind, payload, err := wire.Read(host)
		if err != nil {
			return err
		}
		var command wire.Command
		if err := json.Unmarshal(payload, &command); kind != wire.Run || err != nil {
			return fmt.Errorf("unexpected frame %c of %d bytes: %v", kind, len(payload), err)
		}
		status, err := run(host, command)
		if err != nil {
			err = host.send(wire.Failed, []byte(err.Error()))
		} else {
			err = host.send(wire.Exit, []byte(strconv.Itoa(status)))
		}
		if err != nil {
			return err
		}
	}
}

// run runs a command to its end and returns its exit status.
func run(host *conn, c wire.Command) (int, error) {
	if len(c.Args) == 0 {
		return 0, errors.New("empty command")
	}
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.Dir = c.Dir
	if c.TTY {
		tty, err := os.OpenFile("/dev/hvc0", os.O_RDWR|unix.O_NOCTTY, 0)
		if err != nil {
			return 0, err
		}
		defer tty.Close()
		if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ,
			&unix.Winsize{Row: c.Rows, Col: c.Cols}); err != nil {
			return 0, fmt.Errorf("setting the terminal's size: %w", err)
		}
		cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	} else {
		cmd.Stdout = stream{host, wire.Stdout}
		cmd.Stderr = stream{host, wire.Stderr}
		cmd.WaitDelay = 5 * time.Second // a process left behind may keep the pipes open
	}
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		status := exit.Sys().(syscall.WaitStatus)
		if status.Signaled() {
			return 128 + int(status.Signal()), nil
		}
		return status.ExitStatus(), nil
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	return 0, err
}

// A conn is the serial port. Several goroutines may send.
type conn struct {
	mu   sync.Mutex
	port *os.File
}

func (c *conn) send(kind wire.Kind, payload []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return wire.Write(c.port, kind, payload)
}

// Read reads from the port, which shows an end of file as long as the host has not opened its side.
func (c *conn) Read(p []byte) (int, error) {
	for {
		n, err := c.port.Read(p)
		if n > 0 || err != nil && err != io.EOF {
			return n, err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// A stream is one output of a command as a writer.
type stream struct {
	host *conn
	kind wire.Kind
}

func (s stream) Write(p []byte) (int, error) {
	return len(p), s.host.send(s.kind, p)
}

// openPort finds the serial port by its name in sysfs, since no udev makes links here.
func openPort() (*os.File, error) {
	for range 3000 {
		names, err := filepath.Glob("/sys/class/virtio-ports/*/name")
		if err != nil {
			return nil, err
		}
		for _, file := range names {
			if name, err := os.ReadFile(file); err == nil && strings.TrimSpace(string(name)) == wire.Port {
				return os.OpenFile("/dev/"+filepath.Base(filepath.Dir(file)), os.O_RDWR, 0)
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil, fmt.Errorf("no virtio serial port is named %s", wire.Port)
}
