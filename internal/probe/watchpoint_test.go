package probe

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/machine"
)

// recorded is a recorded machine of an architecture, with kernel symbols.
func recordedMachine(t *testing.T, arch, kallsyms string) *machine.Machine {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "proc"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"uname": arch + " 6.12.0", "proc/kallsyms": kallsyms} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return machine.Recorded(dir)
}

func TestWatchModes(t *testing.T) {
	for _, tt := range []struct{ arch, modes, refused, hint string }{
		{"x86_64", "x w rw wr", "r rx wx rwx", "supported modes: x,w,rw"},
		{"aarch64", "x w rw wr r", "rx wx rwx", "supported modes: r,w,rw,x"},
	} {
		o := &Options{Machine: recordedMachine(t, tt.arch, "")}
		for _, mode := range strings.Fields(tt.modes) {
			if _, err := parse("watchpoint:0x1000:8:"+mode, o); err != nil {
				t.Errorf("%s: %s: %v", tt.arch, mode, err)
			}
		}
		for _, mode := range strings.Fields(tt.refused) {
			_, err := parse("watchpoint:0x1000:8:"+mode, o)
			h, ok := errors.AsType[Hinted](err)
			if !ok || h.Hint != tt.hint {
				t.Errorf("%s: %s: %v, hint %q; want hint %q", tt.arch, mode, err, h.Hint, tt.hint)
			}
		}
	}
}

func TestWatchSymbol(t *testing.T) {
	o := &Options{Machine: recordedMachine(t, "x86_64", "ffffffff82000000 D jiffies\nffffffff82000010 d other\n")}
	for _, tt := range []struct {
		name string
		want uint64
	}{{"jiffies", 0xffffffff82000000}, {"other", 0xffffffff82000010}, {"jiffie", 0}} {
		p, err := parse("watchpoint:"+tt.name+":8:w", o)
		if err != nil {
			t.Fatal(err)
		}
		points, err := p.Kind.Match(p, o)
		if tt.want == 0 {
			if err == nil || !strings.HasPrefix(err.Error(), "Invalid function/address argument: invalid integer: "+tt.name) {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		if err != nil || len(points) != 1 || points[0].Address != tt.want {
			t.Errorf("%s: %v, %v; want %#x", tt.name, points, err, tt.want)
		}
	}
}

func TestWatchAdvice(t *testing.T) {
	const kernel = 0xffffffff81000000
	for _, tt := range []struct {
		arch string
		addr uint64
		pid  int
		err  error
		want string
	}{
		{"aarch64", kernel, 7, unix.EINVAL, " (on aarch64 addresses of the kernel are watched for all processes: leave out -p and -c, and test pid in the script)"},
		{"aarch64", kernel, 0, unix.EINVAL, ""},
		{"aarch64", 0x1000, 7, unix.EINVAL, ""},
		{"aarch64", kernel, 7, unix.EACCES, ""},
		{"x86_64", kernel, 7, unix.EINVAL, ""},
		{"x86_64", 0x1001, 7, unix.EINVAL, " (0x1001 is not a multiple of 8)"},
	} {
		o := &Options{Machine: recordedMachine(t, tt.arch, ""), PID: tt.pid}
		if got := watchAdvice(tt.err, tt.addr, watch{length: 8, mode: "w"}, o); got != tt.want {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}
