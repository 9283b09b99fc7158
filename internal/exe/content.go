package exe

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/cursor"
)

// content is the bytes of a file. They are never mapped: whoever may write to
// the file could cut it short, which kills those who touch what is gone, or
// change what was checked. Memory of the file's size is reserved, and a page of
// it filled by a copy when it is first asked for. What cannot be read is zeros.
//
// Slices of the memory are valid until close. Methods may be used from several
// goroutines.
type content struct {
	mem    []byte
	file   *os.File // nil if mem has all
	base   int64    // where in the file mem begins
	mapped bool     // mem is no memory of Go's

	mu     sync.Mutex
	have   []atomic.Uint64 // a bit for each page
	loaded atomic.Int64    // bytes
}

// Sizes in bytes: what is copied at once, and the files that are copied whole,
// which takes neither a descriptor nor a mapping.
const (
	pageSize   = 4 << 10
	maxAtOnce  = 64 << 10
	pageOfWord = 64
)

// newContent takes over a file, of which bytes [base, base+size) count.
func newContent(f *os.File, base, size int64) (*content, error) {
	if size <= maxAtOnce {
		defer f.Close()
		b := make([]byte, size)
		n, err := f.ReadAt(b, base)
		if err != nil && err != io.EOF {
			return nil, err
		}
		return &content{mem: b[:n]}, nil
	}
	mem, err := unix.Mmap(-1, 0, int(size), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		f.Close()
		return nil, &os.PathError{Op: "read", Path: f.Name(), Err: err}
	}
	pages := (size + pageSize - 1) / pageSize
	return &content{mem: mem, file: f, base: base, mapped: true,
		have: make([]atomic.Uint64, (pages+pageOfWord-1)/pageOfWord)}, nil
}

func (c *content) close() {
	if c.file != nil {
		c.file.Close()
	}
	if c.mapped {
		unix.Munmap(c.mem)
	}
	c.mem, c.file, c.mapped = nil, nil, false
}

// size is how much memory the content takes.
func (c *content) size() int64 {
	if c.file == nil {
		return int64(len(c.mem))
	}
	return c.loaded.Load()
}

func (c *content) has(page int) bool {
	return c.have[page/pageOfWord].Load()&(1<<(page%pageOfWord)) != 0
}

// Load has bytes [from, to) be in memory.
func (c *content) Load(from, to int) {
	if c.file == nil || from >= to {
		return
	}
	first, last := from/pageSize, (to-1)/pageSize
	for first <= last && c.has(first) {
		first++
	}
	if first > last {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for first <= last {
		if c.has(first) {
			first++
			continue
		}
		end := first + 1
		for end <= last && !c.has(end) {
			end++
		}
		c.read(first*pageSize, min(end*pageSize, len(c.mem)))
		for ; first < end; first++ {
			w := &c.have[first/pageOfWord]
			w.Store(w.Load() | 1<<(first%pageOfWord))
		}
	}
}

// loadAround is load of what will be asked for next as well.
func (c *content) loadAround(from, to int) {
	const around = 32 << 10
	if c.file == nil || c.has(from/pageSize) && c.has((to-1)/pageSize) {
		return
	}
	c.Load(from&^(around-1), min((to+around-1)&^(around-1), len(c.mem)))
}

// read copies bytes [from, to) out of the file, with mu held.
func (c *content) read(from, to int) {
	c.loaded.Add(int64(to - from))
	for from < to {
		n, err := unix.Pread(int(c.file.Fd()), c.mem[from:to], c.base+int64(from))
		if err == unix.EINTR {
			continue
		}
		if n <= 0 || err != nil {
			return
		}
		from += n
	}
}

// slice is bytes [off, off+n), nil if they are not all there.
func (c *content) slice(off, n uint64) []byte {
	size := uint64(len(c.mem))
	if off > size || n > size-off {
		return nil
	}
	c.Load(int(off), int(off+n))
	return c.mem[off : off+n : off+n]
}

// ReadAt reads past what is in memory: nothing of it stays.
func (c *content) ReadAt(b []byte, off int64) (int, error) {
	if off < 0 || off >= int64(len(c.mem)) {
		return 0, io.EOF
	}
	short := int64(len(b)) > int64(len(c.mem))-off
	if short {
		b = b[:int64(len(c.mem))-off]
	}
	n := 0
	var err error
	if c.file != nil {
		n, err = c.file.ReadAt(b, c.base+off)
	} else {
		n = copy(b, c.mem[off:])
	}
	if err == nil && short {
		err = io.EOF
	}
	return n, err
}

// Bytes are those of a section, in memory or to come when they are asked for.
type Bytes struct {
	data []byte
	in   *content // of which data is the memory; nil if data is all there
	at   int      // where data begins in it
}

// BytesOf are bytes in memory.
func BytesOf(b []byte) Bytes { return Bytes{data: b} }

// lazy is slice of bytes that are not copied yet.
func (c *content) lazy(off, n uint64) Bytes {
	size := uint64(len(c.mem))
	if off > size || n > size-off {
		return Bytes{}
	}
	return Bytes{data: c.mem[off : off+n : off+n], in: c, at: int(off)}
}

// Len is how many there are.
func (b Bytes) Len() int { return len(b.data) }

// All is all of them.
func (b Bytes) All() []byte {
	if b.in != nil {
		b.in.Load(b.at, b.at+len(b.data))
	}
	return b.data
}

// Cursor reads them from at on up to end, and has them be loaded as it comes by.
func (b Bytes) Cursor(at, end int, big bool) cursor.Cursor {
	c := cursor.Cursor{Data: b.data[:end], At: at, Big: big}
	if b.in != nil {
		c.From(b.in, b.at)
	}
	return c
}

// maxKept bounds sections that stay in memory when they are looked through.
const maxKept = 64 << 20 // bytes

// Scan calls visit with all of them, a window after the other, and where it
// begins; each goes on for overlap bytes into the next. It ends if visit returns
// false. Windows are valid during the call only: large sections leave nothing in
// memory.
func (b Bytes) Scan(window, overlap int, visit func(at int, window []byte) bool) bool {
	if b.in == nil || b.in.file == nil || len(b.data) <= maxKept {
		return visit(0, b.All())
	}
	buf := make([]byte, min(window+overlap, len(b.data)))
	for at := 0; at < len(b.data); at += window {
		w := buf[:min(len(buf), len(b.data)-at)]
		n, err := b.in.ReadAt(w, int64(b.at+at))
		if err != nil && !errors.Is(err, io.EOF) {
			return true
		}
		if !visit(at, w[:n]) {
			return false
		}
	}
	return true
}

// maxName bounds the names of symbols: those that templates of C++ make have some
// thousands of bytes.
const maxName = 64 << 10 // bytes

// Text is the string at an offset up to its NUL, which is left out; nil if there
// is none within maxName bytes.
func (b Bytes) Text(off uint64) []byte {
	if off >= uint64(len(b.data)) {
		return nil
	}
	for most := uint64(256); ; most = min(most*16, maxName) {
		end := min(off+most, uint64(len(b.data)))
		if b.in != nil {
			b.in.loadAround(b.at+int(off), b.at+int(end))
		}
		if n := bytes.IndexByte(b.data[off:end], 0); n >= 0 {
			return b.data[off : off+uint64(n) : off+uint64(n)]
		}
		if most == maxName || end == uint64(len(b.data)) {
			return nil
		}
	}
}
