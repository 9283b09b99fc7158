package symbolize

import (
	"cmp"
	"maps"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/order"
)

// Left is what was given up to stay within bounds.
type Left struct {
	Lost int // files whose symbols were dropped, wanted again and not found
	JIT  int // processes whose names of generated code were dropped
	Late int // files that nobody would wait for any longer, or that too many others hung before
}

// LeftOut is what was given up so far.
func (u *User) LeftOut() Left {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.left
}

// Bounds of the files that are kept open, and of the memory of their symbols. The
// one that was used longest ago is closed. Programs that run again and again need a
// lot of memory at times; for those of the past there is little.
const (
	mostFiles  = 1024
	leastFiles = 32
	maxMemory  = 512 << 20 // bytes
	maxIdle    = 24 << 20  // bytes, of files that are idle
	maxFileIDs = 1 << 13   // files that were looked at, most of which may have been none

	idle = 10 * time.Second // without use
)

// filesFor is how many files may be open where so many descriptors may.
func filesFor(descriptors uint64) int {
	return int(min(max(descriptors/8, leastFiles), mostFiles))
}

// descriptors is the limit of open files of the process.
func descriptors() uint64 {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return limit.Cur
}

// memory is what a file takes, in bytes.
func (f *file) memory() int64 {
	n := f.elf.Memory()
	if f.debug != nil {
		n += f.debug.Memory()
	}
	if f.table != nil {
		n += f.table.Memory()
	}
	return n
}

// trimFiles closes the files that were used longest ago while there are too many
// of them, or they take too much.
func (u *User) trimFiles() {
	count, total, unused := 0, int64(0), int64(0)
	for _, f := range u.files {
		if f != nil && !f.closed {
			count++
			if f.busy == 0 {
				n := f.memory()
				total += n
				if f.isIdle(u) {
					unused += n
				}
			}
		}
	}
	if count <= u.maxFiles && total <= maxMemory && unused <= maxIdle {
		return // as mostly, without a list of them
	}
	open := make([]*file, 0, count)
	for _, f := range u.files {
		if f != nil && !f.closed {
			open = append(open, f)
		}
	}
	order.By(open, func(a, b *file) int { return cmp.Compare(a.used, b.used) })
	for n, f := range open {
		// An eighth more than needed, as it takes a look at all of them.
		if len(open)-n <= u.maxFiles*7/8 && total <= maxMemory*7/8 && unused <= maxIdle*7/8 || n == len(open)-1 {
			break
		}
		if f.busy > 0 {
			continue
		}
		freed := f.memory()
		total -= freed
		if f.isIdle(u) {
			unused -= freed
		}
		f.close(u)
	}
	maps.DeleteFunc(u.files, func(_ fileID, f *file) bool { return f != nil && f.closed })
}

// isIdle reports whether a file was not used in the last look-ups.
func (f *file) isIdle(u *User) bool { return u.looked.Sub(f.looked) >= idle }

// forgetFiles forgets which files were looked at, but for those that are open.
func (u *User) forgetFiles() {
	kept := make(map[fileID]*file)
	for id, f := range u.files {
		if f != nil && !f.closed {
			kept[id] = f
		}
	}
	u.files = kept
}
