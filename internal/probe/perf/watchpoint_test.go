package perf

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/probe/probetest"
)

func TestWatchModes(t *testing.T) {
	for _, tt := range []struct{ arch, modes, refused, hint string }{
		{"x86_64", "x w rw wr", "r rx wx rwx", "supported modes: x,w,rw"},
		{"aarch64", "x w rw wr r", "rx wx rwx", "supported modes: r,w,rw,x"},
	} {
		o := &probe.Options{Machine: probetest.RecordedMachine(t, tt.arch, "")}
		for _, mode := range strings.Fields(tt.modes) {
			if _, err := probetest.Parse("watchpoint:0x1000:8:"+mode, o); err != nil {
				t.Errorf("%s: %s: %v", tt.arch, mode, err)
			}
		}
		for _, mode := range strings.Fields(tt.refused) {
			_, err := probetest.Parse("watchpoint:0x1000:8:"+mode, o)
			h, ok := errors.AsType[probe.Hinted](err)
			if !ok || h.Hint != tt.hint {
				t.Errorf("%s: %s: %v, hint %q; want hint %q", tt.arch, mode, err, h.Hint, tt.hint)
			}
		}
	}
}

func TestWatchSymbol(t *testing.T) {
	o := &probe.Options{Machine: probetest.RecordedMachine(t, "x86_64",
		"ffffffff82000000 D jiffies\nffffffff82000010 d other\n")}
	for _, tt := range []struct {
		name string
		want uint64
	}{{"jiffies", 0xffffffff82000000}, {"other", 0xffffffff82000010}, {"jiffie", 0}} {
		p, err := probetest.Parse("watchpoint:"+tt.name+":8:w", o)
		if err != nil {
			t.Fatal(err)
		}
		points, err := p.Kind.Match(p, o)
		if tt.want == 0 {
			if err == nil || !strings.HasPrefix(err.Error(), "Invalid function/address argument: invalid integer: "+
				tt.name) {
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
		{"aarch64", kernel, 7, unix.EINVAL, " (on aarch64 addresses of the kernel are watched for all processes: " +
			"leave out -p and -c, and test pid in the script)"},
		{"aarch64", kernel, 0, unix.EINVAL, ""},
		{"aarch64", 0x1000, 7, unix.EINVAL, ""},
		{"aarch64", kernel, 7, unix.EACCES, ""},
		{"x86_64", kernel, 7, unix.EINVAL, ""},
		{"x86_64", 0x1001, 7, unix.EINVAL, " (0x1001 is not a multiple of 8)"},
	} {
		o := &probe.Options{Machine: probetest.RecordedMachine(t, tt.arch, ""), PID: tt.pid}
		if got := watchAdvice(tt.err, &probe.Point{Address: tt.addr, Length: 8, Mode: "w"}, o); got != tt.want {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}
