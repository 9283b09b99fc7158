package unwind

import (
	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/object"
)

// makeRoom forgets files if there are too many of them: those without a table,
// to which nothing in the kernel refers, or else all.
func (u *Unwinder) makeRoom() {
	if len(u.files) < object.UnwindMaxFiles {
		return
	}
	u.mu.Lock()
	for id, f := range u.files {
		if f.table == nil && id != vdsoID {
			u.forget(id, f)
		}
	}
	clear(u.known)
	left := len(u.files)
	u.mu.Unlock()
	if left > object.UnwindMaxFiles/2 {
		u.startOver()
	}
}

// startOver drops all tables. Spaces refer to them by number and go first: what is
// sampled until they are made again, for processes as they are met, is walked by
// frame pointers.
func (u *Unwinder) startOver() {
	u.mu.Lock()
	defer u.mu.Unlock()
	bpf.MapDelete(u.Spaces, key(0)) // what programs start from: they make no more
	for id, f := range u.files {
		if f.table != nil {
			u.dropped++
		}
		u.forget(id, f)
	}
	for range 2 * object.UnwindMaxSpaces {
		k := key(-1)
		if bpf.MapNextKey(u.Spaces, k, k) != nil || bpf.MapDelete(u.Spaces, k) != nil {
			break
		}
	}
	u.generation++
	clear(u.known)
	u.vdsoFile = nil
	for ; u.first != u.next; u.first++ {
		bpf.MapDelete(u.Chunks, key(int(u.first)))
	}
	if u.Files >= 0 {
		bpf.MapUpdate(u.Spaces, key(0), space(0, 0, nil), 0)
	}
}

// forget takes a file from programs and from the books, with mu held.
func (u *Unwinder) forget(id fileID, f *file) {
	if u.Files >= 0 && f.plain {
		bpf.MapDelete(u.Files, f.name)
	}
	delete(u.files, id)
}

// Dropped is how many files' tables were dropped since there was no room for more.
func (u *Unwinder) Dropped() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.dropped
}

// Refused is how many files have tables that the kernel did not take, for want of memory.
func (u *Unwinder) Refused() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.refused
}
