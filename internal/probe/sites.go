package probe

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
)

// A site is one breakpoint in a file.
type site struct {
	point     *Point // that it belongs to
	path      string
	offset    uint64 // in the file
	semaphore uint64 // in the file, 0 if none
	cookie    uint64
	entry     bool  // where a function starts
	unsafe    error // why no probe must be put there, nil unless that is known already
}

// linkSites attaches by one link for each file, or by a perf event for each site.
// Sites of patterns that hawk or the kernel refuses are left out if there are others.
func linkSites(progFD int, g *Group, sites []site, o *Options, multi bool, flags uint32) ([]Link, error) {
	var links []Link
	r := refusals{group: g}
	sites, err := steppable(sites, o, &r)
	if err != nil {
		return nil, err
	}
	if multi {
		links, err = linkSitesMulti(progFD, sites, o, flags, &r)
	} else {
		links, err = linkSitesPerf(progFD, sites, o, flags, &r)
	}
	if err == nil {
		err = r.end(len(links) > 0, o)
	}
	if err != nil {
		return nil, errors.Join(err, closeAll(links))
	}
	return links, nil
}

// linkSitesMulti finds the sites that the kernel refuses by halving, since it
// refuses all of a file if it refuses one.
func linkSitesMulti(progFD int, sites []site, o *Options, flags uint32, r *refusals) ([]Link, error) {
	var links []Link
	var attach func(file []site) error
	attach = func(file []site) error {
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
		fd, err := m.Link(o.Kernel, progFD)
		switch {
		case err == nil:
			links = append(links, bpf.HeldFD{FD: bpf.FD(fd), Kernel: o.Kernel})
			return nil
		case !refusesFunction(err):
			return fmt.Errorf("uprobe.multi on %s: %w", m.Path, err)
		case len(file) == 1:
			return r.add(file[0].point, siteError(file[0], err))
		}
		if err := o.step(); err != nil {
			return err
		}
		half := len(file) / 2
		if err := attach(file[:half]); err != nil {
			return err
		}
		return attach(file[half:])
	}
	for _, file := range byFile(sites) {
		if err := attach(file); err != nil {
			return links, err
		}
	}
	return links, nil
}

// notSupported is ENOTSUPP, an error of the kernel's that was not meant for
// users: of an instruction that it cannot run out of its place.
const notSupported = unix.Errno(524)

// occupied explains EINVAL, which the kernel has for a place where a probe is that
// counts its tracers elsewhere: a uprobe on the instruction of a mark.
const occupied = "\n" + `Another tracer may have a probe at this place, with %[1]s semaphore. End it, or trace the place as it does: as a uprobe, or as a mark (usdt).
If none is running, one that was killed has left its probe in the kernel, where it stays with the file:
replace the file by a copy (cp %[2]s %[2]s.new && mv %[2]s.new %[2]s) and start the program anew.`

func siteError(s site, err error) error {
	switch {
	case errors.Is(err, notSupported):
		return fmt.Errorf("%s at offset 0x%x: the kernel puts no probe on the instruction there: %w", s.path, s.offset, err)
	case errors.Is(err, unix.EINVAL):
		other := "a" // this one has none
		if s.semaphore != 0 {
			other = "another"
		}
		return fmt.Errorf("%s at offset 0x%x: %w%s", s.path, s.offset, err, fmt.Sprintf(occupied, other, s.path))
	}
	return fmt.Errorf("%s at offset 0x%x: %w", s.path, s.offset, err)
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

func linkSitesPerf(progFD int, sites []site, o *Options, flags uint32, r *refusals) ([]Link, error) {
	typ, err := o.Machine.PMUType("uprobe")
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
		l, err := openPerf(o.Kernel, &attr, s.path, progFD, pid, cpu, s.cookie)
		if err != nil {
			if err := r.add(s.point, siteError(s, err)); err != nil {
				return links, err
			}
			continue
		}
		links = append(links, l)
	}
	return links, nil
}
