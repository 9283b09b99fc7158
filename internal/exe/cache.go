package exe

import (
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/foreign"
)

// A Cache keeps files open that are closed, since a script that names many
// functions of a file asks for it again and again: what was read of it, and found
// out about it, is still there then. A file that has been written to or replaced
// is opened anew. The zero Cache is ready; a nil one keeps nothing.
type Cache struct {
	mu   sync.Mutex
	kept []*File // the one that was opened last is the last

	retired bool // nobody asks for files any more
}

// Bounds of what is kept and not in use.
const (
	maxIdle       = 16
	maxIdleMemory = 256 << 20 // bytes
)

// Open is the function of that name. The File is closed as any other.
func (c *Cache) Open(path string) (*File, error) {
	if c == nil {
		return Open(path)
	}
	stat, err := foreign.Stat(OnDisk(path))
	if err != nil {
		return nil, err
	}
	if f := c.again(path, &stat); f != nil {
		return f, nil
	}
	f, err := Open(path) // which may wait
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	f.cache, f.users = c, 1
	c.kept = append(c.kept, f)
	return f, nil
}

// again finds a file that is kept, for one more user; nil if there is none.
func (c *Cache) again(path string, stat *unix.Stat_t) *File {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.kept, func(f *File) bool { return f.Path == path && unchanged(&f.stat, stat) })
	if i < 0 {
		return nil
	}
	f := c.kept[i]
	c.kept = append(slices.Delete(c.kept, i, i+1), f)
	f.users++
	return f
}

// unchanged reports whether a file has been neither replaced nor written to.
func unchanged(before, after *unix.Stat_t) bool {
	return before.Ino == after.Ino && before.Dev == after.Dev && before.Size == after.Size &&
		before.Mtim == after.Mtim && before.Ctim == after.Ctim
}

// unused takes a file back from one of its users.
func (c *Cache) unused(f *File) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f.users--
	if c.retired {
		c.drop(0, 0)
	} else {
		c.drop(maxIdle, maxIdleMemory)
	}
}

// Retire is Forget for good: what is in use yet is closed when it no longer is.
func (c *Cache) Retire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.retired = true
	c.drop(0, 0)
}

// Forget closes all that is not in use.
func (c *Cache) Forget() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(0, 0)
}

// drop closes idle files until so many are left, the one that was opened longest ago
// first. c.mu is held.
func (c *Cache) drop(files int, memory int64) {
	for i := len(c.kept) - 1; i >= 0; i-- {
		f := c.kept[i]
		if f.users > 0 {
			continue
		}
		files, memory = files-1, memory-f.Memory()
		if files < 0 || memory < 0 {
			f.close()
			c.kept = slices.Delete(c.kept, i, i+1)
		}
	}
}

// A memo keeps what was found out about a file until it is closed.
type memo struct {
	mu    sync.Mutex
	known [][2]any         // a Fact that was asked, and what it is
	debug map[string]*File // separate debug files, by root directory; nil: there is none
}

// A Fact is something to be found out about files, once for each. It is declared once, as a
// package variable.
type Fact[T any] struct{ find func(f *File) T }

// FactOf is the fact that find finds out. Find may be called more than once for a file if several
// goroutines ask.
func FactOf[T any](find func(f *File) T) *Fact[T] { return &Fact[T]{find} }

// Of yields the fact about a file.
func (k *Fact[T]) Of(f *File) T {
	return f.memo.once(k, func() any { return k.find(f) }).(T)
}

// once asks find without the lock held: it may read the whole file.
func (m *memo) once(fact any, find func() any) any {
	m.mu.Lock()
	known := m.find(fact)
	m.mu.Unlock()
	if known != nil {
		return known
	}
	known = find()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known = append(m.known, [2]any{fact, known})
	return known
}

// find is what is known, nil if nothing is.
func (m *memo) find(fact any) any {
	for _, k := range m.known {
		if k[0] == fact {
			return k[1]
		}
	}
	return nil
}

// OwnDebugFile is DebugFile for the same directories each time; it is closed with f.
func (f *File) OwnDebugFile(root string, dirs ...DebugDir) *File {
	f.memo.mu.Lock()
	defer f.memo.mu.Unlock()
	d, ok := f.memo.debug[root]
	if !ok {
		d = f.DebugFile(root, dirs...)
		if f.memo.debug == nil {
			f.memo.debug = map[string]*File{}
		}
		f.memo.debug[root] = d
	}
	return d
}
