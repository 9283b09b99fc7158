package probe

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
)

// A site is one breakpoint in a file.
type site struct {
	path      string
	offset    uint64 // in the file
	semaphore uint64 // in the file, 0 if none
	cookie    uint64
}

// linkSites attaches by one link for each file, or by a perf event for each site.
func linkSites(progFD int, sites []site, o *Options, multi bool, flags uint32) ([]Link, error) {
	if multi {
		return linkSitesMulti(progFD, sites, o, flags)
	}
	return linkSitesPerf(progFD, sites, o, flags)
}

func linkSitesMulti(progFD int, sites []site, o *Options, flags uint32) ([]Link, error) {
	var links []Link
	for _, file := range byFile(sites) {
		m := bpf.UprobeMulti{Path: file[0].path, PID: o.kernelPID()}
		if flags != 0 {
			m.Flags = bpf.MultiReturn
		}
		counted := false
		for _, s := range file {
			m.Offsets = append(m.Offsets, s.offset)
			m.Semaphores = append(m.Semaphores, s.semaphore)
			m.Cookies = append(m.Cookies, s.cookie)
			counted = counted || s.semaphore != 0
		}
		if !counted {
			m.Semaphores = nil
		}
		fd, err := m.Link(progFD)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("uprobe.multi on %s: %w", m.Path, err), closeAll(links))
		}
		links = append(links, bpf.FD(fd))
	}
	return links, nil
}

// byFile groups sites by file, in the order in which files come first.
func byFile(sites []site) (groups [][]site) {
	group := map[string]int{}
	for _, s := range sites {
		at, ok := group[s.path]
		if !ok {
			at = len(groups)
			group[s.path] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], s)
	}
	return groups
}

func linkSitesPerf(progFD int, sites []site, o *Options, flags uint32) ([]Link, error) {
	typ, err := o.Target.PMUType("uprobe")
	if err != nil {
		return nil, err
	}
	pid, cpu := -1, 0
	if only := o.kernelPID(); only != 0 {
		pid, cpu = only, -1
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
