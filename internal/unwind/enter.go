package unwind

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/proc"
)

// vdsoPath is what the kernel calls the code that it maps into every process, and
// vdsoID stands for it.
const vdsoPath = "[vdso]"

var vdsoID = fileID{ino: math.MaxUint64}

// narrow reports whether a mapping is one of a 32-bit program, if it is the vDSO: theirs is another
// one, which nobody unwinds. The kernel puts that of others far above.
func narrow(start uint64) bool { return start < object.UnwindWide }

// vdso is the code that the kernel maps into every process, read once for all. Hawk's own is read: what
// another process has mapped there by the time that its memory is read may never answer.
func (u *Unwinder) vdso() *file {
	if f, ok := u.files[vdsoID]; ok {
		return f
	}
	e, err := exe.New(vdsoPath, proc.VDSO())
	if err != nil {
		return nil
	}
	name := make([]byte, object.UnwindFileKey)
	vdso := int64(object.UnwindVDSO)
	binary.NativeEndian.PutUint64(name[object.UnwindInode:], uint64(vdso))
	f := u.enter(vdsoID, readingOf(e, nil), name)
	u.mu.Lock()
	u.vdsoFile = f
	u.mu.Unlock()
	return f
}

// enter puts the table of a file into the kernel, and tells programs of it.
func (u *Unwinder) enter(id fileID, r *reading, name []byte) *file {
	u.makeRoom()
	f := &file{index: u.next, name: name, bias: r.bias, plain: r.plain, build: r.build}
	defer func() {
		u.announce(id, f)
		u.mu.Lock()
		u.files[id] = f
		u.mu.Unlock()
	}()
	if r.table == nil {
		return f
	}
	if err := u.load(f, r.table); err != nil {
		f.refused = true
		u.mu.Lock()
		u.refused++
		u.mu.Unlock()
	}
	return f
}

// load puts a table into the kernel.
func (u *Unwinder) load(f *file, t *Table) error {
	chunks, err := t.chunks(u.next)
	if err != nil {
		return err
	}
	if len(chunks) >= object.UnwindMaxChunks {
		return unix.E2BIG
	}
	// Looking for who needs what takes a system call for each process: it is done when the tables
	// have grown, not for each file.
	if u.held+len(chunks) >= u.enough {
		u.reclaim()
	}
	if u.held+len(chunks) >= object.UnwindMaxChunks {
		u.startOver()
	}
	for i, c := range chunks {
		if err := u.store(u.Chunks, key(int(u.next)+i), c); err != nil {
			// A table is there as a whole or not at all: programs search its index.
			for ; i > 0; i-- {
				u.remove(u.Chunks, key(int(u.next)+i-1))
			}
			return err
		}
	}
	u.next += uint32(len(chunks))
	u.held += len(chunks)
	t.rows = nil // the kernel has them
	f.table, f.chunks = t, uint32(len(chunks))
	return nil
}

// store writes an element of a kernel map, and waits for memory. The kernel keeps some ready for
// each map and fetches more when asked, but without waiting: where memory is in pieces it may have
// none for a moment.
func (u *Unwinder) store(fd int, key, value []byte) (err error) {
	const tries, pause = 40, 5 * time.Millisecond
	for range tries {
		if err = u.update(fd, key, value); !errors.Is(err, unix.ENOMEM) {
			break
		}
		time.Sleep(pause)
	}
	return err
}

// announce tells programs what there is of a file.
func (u *Unwinder) announce(id fileID, f *file) {
	if u.Files < 0 || !f.plain {
		return
	}
	v := make([]byte, object.UnwindFile)
	order := binary.NativeEndian
	if f.table != nil {
		// Programs know where in the file code is mapped, positions in tables count from the
		// lowest address.
		order.PutUint64(v[object.UnwindShift:], f.table.Base-f.bias)
		order.PutUint32(v[object.UnwindFileIndex:], f.index)
	}
	if !f.frames() && id != vdsoID {
		order.PutUint32(v[object.UnwindFileBare:], 1)
	}
	u.store(u.Files, f.name, v)
}
