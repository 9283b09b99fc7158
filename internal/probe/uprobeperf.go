package probe

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/arch"
)

// linkSitesPerf attaches by a perf event for each site.
func linkSitesPerf(progFD int, sites []site, o *Options, flags uint32) ([]Link, error) {
	typ, err := o.Target.PMUType("uprobe")
	if err != nil {
		return nil, err
	}
	pid, cpu := -1, 0
	if o.PID != 0 {
		pid, cpu = o.PID, -1
	}
	var links []Link
	for _, s := range sites {
		attr := unix.PerfEventAttr{
			Type:   typ,
			Config: uint64(flags) | s.semaphore<<32,
			Ext2:   s.offset,
		}
		l, err := openPerf(&attr, s.path, progFD, pid, cpu, s.cookie)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s at offset 0x%x: %w", s.path, s.offset, err), closeAll(links))
		}
		links = append(links, l)
	}
	return links, nil
}

// isBoundary reports whether an instruction of a function starts at an offset
// into its code; code is nil if it cannot be read.
func isBoundary(a *arch.Arch, code []byte, offset uint64) bool {
	if a.GoArch != "amd64" {
		return offset%4 == 0
	}
	for at := uint64(0); at < uint64(len(code)); {
		if at >= offset {
			return at == offset
		}
		n := x86Length(code[at:])
		if n == 0 {
			return false
		}
		at += uint64(n)
	}
	return false
}
