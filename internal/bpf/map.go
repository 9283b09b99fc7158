package bpf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A MapSpec describes a map to create.
type MapSpec struct {
	Name       string
	Type       MapType
	KeySize    int // bytes
	ValueSize  int // bytes
	MaxEntries int
	Flags      uint32
	// BTF with type numbers of key and value; zero for maps without. Task
	// storage needs them.
	BTF, BTFKey, BTFValue uint32
	// Inner is the descriptor of a map like those that a map of maps holds.
	Inner int
}

// Flags of map creation.
const (
	NoPrealloc   = 1 << 0
	ProgReadOnly = 1 << 7 // for programs, not for user space
	Mmapable     = 1 << 10
)

// MapCreate creates a map.
func MapCreate(s MapSpec) (int, error) {
	attr := struct {
		typ, key, value, entries, flags uint32
		inner, numa                     uint32
		name                            [NameLen + 1]byte
		ifindex                         uint32
		btf, btfKey, btfValue, vmlinux  uint32
		extra                           uint64
	}{
		typ: uint32(s.Type),
		key: uint32(s.KeySize), value: uint32(s.ValueSize), entries: uint32(s.MaxEntries), flags: s.Flags,
		inner: uint32(s.Inner), name: objName(s.Name), btf: s.BTF, btfKey: s.BTFKey, btfValue: s.BTFValue,
	}
	return call(cmdMapCreate, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
}

// MapFreeze makes a map read-only for user space, so that the verifier takes
// its content as constant.
func MapFreeze(fd int) error {
	attr := struct{ fd uint32 }{uint32(fd)}
	_, err := call(cmdMapFreeze, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
	return err
}

// An elemAttr is the part of union bpf_attr for single elements.
type elemAttr struct {
	fd, _      uint32
	key, value unsafe.Pointer
	flags      uint64
}

func elem(cmd, fd int, key, value []byte, flags uint64) error {
	attr := elemAttr{fd: uint32(fd), key: bytesPtr(key), value: bytesPtr(value), flags: flags}
	return persist(func() error {
		_, err := call(cmd, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
		return err
	})
}

// Locked reports whether a map was left alone because the kernel could not lock the part of it
// that an element is in: EBUSY before Linux 6.15, from then on EDEADLK, or ETIMEDOUT after a
// quarter of a second.
func Locked(err error) bool {
	return errors.Is(err, unix.EBUSY) || errors.Is(err, unix.EDEADLK) || errors.Is(err, unix.ETIMEDOUT)
}

// persist repeats what failed because a map was locked, which does not last.
func persist(f func() error) (err error) {
	for range 100 {
		if err = f(); !Locked(err) {
			return err
		}
	}
	return err
}

// MapLookup reads the value of a key into value, which has the map's value
// size; of per-CPU maps, PerCPUBytes for every one of PerCPUValues. The error is
// ENOENT if there is no such key.
func MapLookup(fd int, key, value []byte) error { return elem(cmdMapLookup, fd, key, value, 0) }

// MapUpdate writes an element; flags 0 creates or replaces.
func MapUpdate(fd int, key, value []byte, flags uint64) error {
	return elem(cmdMapUpdate, fd, key, value, flags)
}

// MapPut makes a map the first of an array of maps. It returns once no program runs
// any more that has found another there, but for programs that may sleep.
func MapPut(fd, inner int) error {
	return MapUpdate(fd, make([]byte, 4), binary.NativeEndian.AppendUint32(nil, uint32(inner)), 0)
}

// MapDelete removes an element.
func MapDelete(fd int, key []byte) error { return elem(cmdMapDelete, fd, key, nil, 0) }

// MapNextKey writes the key after key (nil: the first) to next; ENOENT after
// the last. A key that was deleted meanwhile starts over at the first.
func MapNextKey(fd int, key, next []byte) error { return elem(cmdMapNextKey, fd, key, next, 0) }

// A Batch walks a hash map many elements a call. The zero value starts at the
// beginning.
type Batch struct {
	// Take removes the elements that are read.
	Take bool

	pos  []byte
	more bool
	done bool
}

// Next reads up to len(keys)/keySize elements. n elements were read; the walk
// is over when n is 0. ENOSPC says that a bucket of the map holds more
// elements than fit: call again with more room. EINVAL says that the map or
// the kernel has no batches.
func (b *Batch) Next(fd int, keySize int, keys, values []byte) (n int, err error) {
	if b.done {
		return 0, nil
	}
	if b.pos == nil {
		// The kernel stores a bucket number, or a key for maps without
		// buckets.
		b.pos = make([]byte, max(keySize, 8))
	}
	attr := batchAttr{out: bytesPtr(b.pos), keys: bytesPtr(keys), values: bytesPtr(values),
		count: uint32(len(keys) / keySize), fd: uint32(fd)}
	if b.more {
		attr.in = bytesPtr(b.pos)
	}
	cmd := cmdMapLookupBatch
	if b.Take {
		cmd = cmdMapTakeBatch
	}
	room := attr.count
	err = persist(func() error {
		attr.count = room
		_, err := call(cmd, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
		if Locked(err) && attr.count > 0 && attr.count < room {
			return nil // what was read before it, and maybe taken
		}
		return err
	})
	switch {
	case err == nil:
	case errors.Is(err, unix.ENOENT):
		b.done = true
	default:
		return 0, err
	}
	b.more = true
	return int(attr.count), nil
}

// Done says that all elements were read.
func (b *Batch) Done() bool { return b.done }

// A batchAttr is the part of union bpf_attr for many elements at once.
type batchAttr struct {
	in, out, keys, values unsafe.Pointer
	count, fd             uint32
	elemFlags, flags      uint64
}

// MapDeleteBatch deletes n elements by their keys, laid end to end, and says
// how many are gone. The first missing key ends it with ENOENT.
func MapDeleteBatch(fd int, keys []byte, n int) (int, error) {
	attr := batchAttr{keys: bytesPtr(keys), count: uint32(n), fd: uint32(fd)}
	_, err := call(cmdMapDeleteBatch, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
	if err != nil && (errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EFAULT) || errors.Is(err, unix.EPERM)) {
		return 0, err // count was not written
	}
	return int(attr.count), err
}

// PerCPUBytes is the room a per-CPU value takes for each CPU.
func PerCPUBytes(valueSize int) int { return (valueSize + 7) &^ 7 }

// mostCPUs is more than any kernel can be built for.
const mostCPUs = 8192

// PerCPUValues is how many values an element of a per-CPU map has: the kernel
// writes that many to wherever an element is read to, whatever room there is.
// It is seen by what a read leaves behind.
func PerCPUValues() (int, error) {
	fd, err := MapCreate(MapSpec{Name: "hawk_cpus", Type: PerCPUArray, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	room := bytes.Repeat([]byte{0xff}, 8*mostCPUs)
	if err := MapLookup(fd, make([]byte, 4), room); err != nil {
		return 0, err
	}
	n := 0
	for n < mostCPUs && binary.NativeEndian.Uint64(room[8*n:]) == 0 {
		n++
	}
	return n, nil
}
