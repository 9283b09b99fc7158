package unwind

import (
	"encoding/binary"

	"github.com/hawktrace/hawk/internal/object"
)

// fewChunks are held without asking who needs them, and then of those that are in use one part in
// reclaimPart more each time.
const (
	fewChunks   = 512 // 8 MB
	reclaimPart = 16
)

// Tables that nobody has mapped go in steps, one each time that room is wanted: programs that
// make a space meanwhile may have seen a file before it was withdrawn from them.
const (
	withdrawn = 2 // programs are not told of the file any more
	released  = 3 // its table goes, unless a space refers to it by now
)

// reclaim takes tables of files that no process has mapped from the kernel, where so many are
// held that it pays to look: programs come and go for as long as hawk runs.
func (u *Unwinder) reclaim() {
	// Spaces of processes that have ended would keep their tables.
	u.sweep()
	u.mu.Lock()
	defer u.mu.Unlock()
	// The kernel's map is asked, since programs make spaces by themselves.
	used := u.referred()
	inUse := 0
	for id, f := range u.files {
		switch {
		case f.table == nil || f.expected || id == vdsoID:
		case used[f.index] || f.turn == u.turn:
			u.use(id, f)
			inUse += int(f.chunks)
		default:
			f.idle++
			if f.idle == withdrawn && u.Files >= 0 && f.plain {
				u.remove(u.Files, f.name)
			}
			if f.idle >= released {
				u.release(f)
				u.forget(id, f)
			}
		}
	}
	clear(u.known) // it may have what was forgotten
	u.enough = max(u.held+max(inUse, fewChunks)/reclaimPart, fewChunks)
}

// use notes that somebody has mapped a file, and tells programs of it if they were not to know
// it any more.
func (u *Unwinder) use(id fileID, f *file) {
	if f.idle >= withdrawn {
		u.announce(id, f)
	}
	f.idle, f.turn = 0, u.turn
}

// referred are the numbers of the first chunks of all files that spaces refer to.
func (u *Unwinder) referred() map[uint32]bool {
	out := map[uint32]bool{}
	v := make([]byte, object.UnwindSpace)
	for _, k := range u.spaces() {
		if u.lookup(u.Spaces, k, v) != nil {
			continue
		}
		n := min(binary.NativeEndian.Uint32(v[object.UnwindCount:]), object.UnwindMost)
		for i := range int(n) {
			out[binary.NativeEndian.Uint32(v[object.UnwindMappings+i*object.UnwindMapping+object.UnwindIndex:])] = true
		}
	}
	return out
}

// release takes the table of a file from the kernel.
func (u *Unwinder) release(f *file) {
	for i := range f.chunks {
		u.remove(u.Chunks, key(int(f.index+i)))
	}
	u.held -= int(f.chunks)
}

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
	u.remove(u.Spaces, key(0)) // what programs start from: they make no more
	for id, f := range u.files {
		if f.table != nil {
			u.dropped++
			u.release(f)
		}
		u.forget(id, f)
	}
	for range 2 * object.UnwindMaxSpaces {
		k := key(-1)
		if u.nextKey(u.Spaces, k, k) != nil || u.remove(u.Spaces, k) != nil {
			break
		}
	}
	u.generation++
	clear(u.known)
	u.vdsoFile = nil
	if u.Files >= 0 {
		u.store(u.Spaces, key(0), space(0, moment{}, nil))
	}
}

// forget takes a file from programs and from the books, with mu held.
func (u *Unwinder) forget(id fileID, f *file) {
	if u.Files >= 0 && f.plain {
		u.remove(u.Files, f.name)
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
