//go:build linux && (amd64 || arm64)

package usdt

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// A mapping is where the file of a provider lies, in memory and on disk.
type mapping struct {
	base uintptr // address of the file's first byte
	path string
	file *os.File // kept open: its lock says that the file is in use, or it is all there is of it
}

// load finds a place for the file and maps it.
func (m *mapping) load(im *image, o *LoadOptions) error {
	var first error
	if !o.Memory {
		for _, dir := range directories(o) {
			f, err := dir.store(im)
			if err == nil {
				if err = m.enter(f, im); err == nil {
					m.path = f.Name()
					dir.tidyOnce(im.name())
					return nil
				}
				f.Close()
			}
			if first == nil {
				first = fmt.Errorf("%s: %w", dir.path, err)
			}
		}
	}
	f, err := memoryFile(im)
	if err == nil {
		if err = m.enter(f, im); err == nil {
			m.path = fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), f.Fd())
			return nil
		}
		f.Close()
	}
	if first != nil {
		return fmt.Errorf("%w; in memory: %w", first, err)
	}
	return err
}

// enter maps the file. What is in front of the code is mapped too, so that who looks at mappings
// finds the headers. The kernel puts probes into private executable mappings and counts tracers in private
// writable ones.
func (m *mapping) enter(f *os.File, im *image) error {
	size := im.semaphore.offset + im.semaphore.size
	base, err := mmap(0, size, syscall.PROT_READ, syscall.MAP_PRIVATE, int(f.Fd()), 0)
	if err != nil {
		return fmt.Errorf("mapping the file: %w", err)
	}
	for _, p := range [...]struct {
		part
		access int
	}{{im.code, syscall.PROT_READ | syscall.PROT_EXEC}, {im.semaphore, syscall.PROT_READ | syscall.PROT_WRITE}} {
		_, err := mmap(base+uintptr(p.offset), p.size, p.access, syscall.MAP_PRIVATE|syscall.MAP_FIXED,
			int(f.Fd()), p.offset)
		if err != nil {
			munmap(base, size)
			return fmt.Errorf("mapping the file: %w", err)
		}
	}
	m.base, m.file = base, f
	return nil
}

// leave puts anonymous memory in place of the file. It takes one system call for each part, so
// goroutines go on that are about to fire, or are inside of the code. The counters go first: they
// are zero from then on.
func (m *mapping) leave(im *image) error {
	if err := m.replace(im.semaphore, nil, syscall.PROT_READ|syscall.PROT_WRITE); err != nil {
		return err
	}
	code := im.bytes[im.code.offset : im.code.offset+im.code.size]
	if err := m.replace(im.code, code, syscall.PROT_READ|syscall.PROT_EXEC); err != nil {
		return err
	}
	if err := m.replace(part{0, im.code.offset}, nil, syscall.PROT_NONE); err != nil {
		return err
	}
	return m.file.Close()
}

// replace puts memory of its own in place of a part of the mapped file. It does so at once, since
// threads may be running there.
func (m *mapping) replace(p part, content []byte, access int) error {
	const fresh = syscall.MAP_PRIVATE | syscall.MAP_ANONYMOUS
	at, err := mmap(0, p.size, syscall.PROT_READ|syscall.PROT_WRITE, fresh, -1, 0)
	if err != nil {
		return fmt.Errorf("memory in place of the file: %w", err)
	}
	copy(unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&at))), p.size), content)
	if _, _, e := syscall.Syscall(syscall.SYS_MPROTECT, at, uintptr(p.size), uintptr(access)); e != 0 {
		munmap(at, p.size)
		return fmt.Errorf("memory in place of the file: %w", e)
	}
	const move = 1 | 2 // MREMAP_MAYMOVE, MREMAP_FIXED
	_, _, e := syscall.Syscall6(syscall.SYS_MREMAP, at, uintptr(p.size), uintptr(p.size), move,
		m.base+uintptr(p.offset), 0)
	if e != 0 {
		munmap(at, p.size)
		return fmt.Errorf("memory in place of the file: %w", e)
	}
	return nil
}

func mmap(addr uintptr, size, access, flags, fd, offset int) (uintptr, error) {
	at, _, e := syscall.Syscall6(syscall.SYS_MMAP, addr, uintptr(size), uintptr(access), uintptr(flags), uintptr(fd),
		uintptr(offset))
	if e != 0 {
		return 0, e
	}
	return at, nil
}

func munmap(addr uintptr, size int) { syscall.Syscall(syscall.SYS_MUNMAP, addr, uintptr(size), 0) }
