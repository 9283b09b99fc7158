package probe

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// linkSitesPerf attaches by a perf event for each site.
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
