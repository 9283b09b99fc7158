package attach

import (
	"errors"
	"fmt"
	"math"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/probe"
)

// LinkSites attaches by one link for each file, or by a perf event for each site.
// Sites of patterns that hawk or the kernel refuses are left out if there are others.
func LinkSites(progFD int, g *probe.Group, sites []probe.Site, o *probe.Options, multi bool,
	flags uint32) ([]probe.Link, error) {
	var links []probe.Link
	r := Refusals{Group: g}
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
		err = r.End(len(links) > 0, o)
	}
	if err != nil {
		return nil, errors.Join(err, CloseAll(links))
	}
	return links, nil
}

// linkSitesMulti finds the sites that the kernel refuses by halving, since it
// refuses all of a file if it refuses one.
func linkSitesMulti(progFD int, sites []probe.Site, o *probe.Options, flags uint32, r *Refusals) ([]probe.Link, error) {
	wait := patience
	var links []probe.Link
	var attach func(file []probe.Site) error
	attach = func(file []probe.Site) error {
		m := bpf.UprobeMulti{Path: file[0].Path, PID: o.KernelPID()}
		if flags != 0 {
			m.Flags = bpf.MultiReturn
		}
		counted := false
		for _, s := range file {
			m.Offsets = append(m.Offsets, s.Offset)
			m.Semaphores = append(m.Semaphores, s.Semaphore)
			m.Cookies = append(m.Cookies, s.Cookie)
			counted = counted || s.Semaphore != 0
		}
		if !counted {
			m.Semaphores = nil
		}
		fd, err := leaving(&wait, func() (int, error) { return m.Link(o.Kernel, progFD) })
		switch {
		case err == nil:
			links = append(links, bpf.HeldFD{FD: bpf.FD(fd), Kernel: o.Kernel})
			return nil
		case !RefusesFunction(err):
			return fmt.Errorf("uprobe.multi on %s: %w", m.Path, err)
		case len(file) == 1:
			return r.Add(file[0].Point, siteError(file[0], err))
		}
		if err := o.Attached(); err != nil {
			return err
		}
		// Halving finds one bad place among n in about log n calls; each of them shows on the
		// progress.
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

// occupied explains EINVAL, which the kernel has for a place where a probe is that
// counts its tracers elsewhere: a uprobe on the instruction of a mark.
const occupied = "\n" + `Another tracer may have a probe at this place, with %[1]s semaphore. End it, or trace the place as it does: as a uprobe, or as a mark (usdt).
If none is running, one that was killed has left its probe in the kernel, where it stays with the file:
replace the file by a copy (cp %[2]s %[2]s.new && mv %[2]s.new %[2]s) and start the program anew.`

// patience is how long attaching waits in all for probes that are about to leave: those of a hawk that
// has just ended are closed behind it, while the next may be there already.
const patience = 500 * time.Millisecond

// leaving attaches, once more as long as the kernel says EINVAL and there is time to wait.
func leaving[T any](wait *time.Duration, attach func() (T, error)) (T, error) {
	for {
		link, err := attach()
		if *wait <= 0 || !errors.Is(err, unix.EINVAL) {
			return link, err
		}
		const pause = 5 * time.Millisecond
		time.Sleep(pause)
		*wait -= pause
	}
}

// siteError says what the kernel's error means for a place in a file.
func siteError(s probe.Site, err error) error {
	switch {
	case errors.Is(err, errno.NotSupported):
		return fmt.Errorf("%s at offset 0x%x: the kernel puts no probe on the instruction there: %w",
			s.Path, s.Offset, err)
	case errors.Is(err, unix.ENOEXEC):
		return fmt.Errorf("%s at offset 0x%x: the kernel does not know the instruction there: %w",
			s.Path, s.Offset, err)
	case errors.Is(err, unix.EINVAL):
		other := "a" // this one has none
		if s.Semaphore != 0 {
			other = "another"
		}
		return fmt.Errorf("%s at offset 0x%x: %w%s", s.Path, s.Offset, err, fmt.Sprintf(occupied, other, s.Path))
	}
	return fmt.Errorf("%s at offset 0x%x: %w", s.Path, s.Offset, err)
}

// byFile groups sites by file, in the order in which files come first.
func byFile(sites []probe.Site) (groups [][]probe.Site) {
	group := map[string]int{}
	for _, s := range sites {
		at, ok := group[s.Path]
		if !ok {
			at = len(groups)
			group[s.Path] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], s)
	}
	return groups
}

// errFarSemaphore is the error of marks that perf events cannot be put on.
var errFarSemaphore = errors.New("the kernel has 32 bits for where the semaphore lies in the file")

// linkSitesPerf attaches to places in files one by one, by perf events, where the kernel has no
// link for many.
func linkSitesPerf(progFD int, sites []probe.Site, o *probe.Options, flags uint32, r *Refusals) ([]probe.Link, error) {
	typ, err := o.Machine.PMUType("uprobe")
	if err != nil {
		return nil, err
	}
	pid, cpu := -1, 0
	if only := o.KernelPID(); only != 0 {
		pid, cpu = only, -1
	}
	wait := patience
	var links []probe.Link
	for _, s := range sites {
		attr := unix.PerfEventAttr{
			Type: typ,
			// The kernel has 32 bits for the offset of the semaphore, in the upper half
			// (ref_ctr_offset).
			Config: uint64(flags) | s.Semaphore<<32,
			Ext2:   s.Offset,
		}
		// Another word would be counted up in its place.
		if s.Semaphore > math.MaxUint32 {
			if err := r.Add(s.Point, siteError(s, errFarSemaphore)); err != nil {
				return links, err
			}
			continue
		}
		l, err := leaving(&wait, func() (probe.Link, error) {
			return OpenPerf(o.Kernel, &attr, s.Path, progFD, pid, cpu, s.Cookie)
		})
		if err != nil {
			if err := r.Add(s.Point, siteError(s, err)); err != nil {
				return links, err
			}
			continue
		}
		links = append(links, l)
	}
	return links, nil
}
