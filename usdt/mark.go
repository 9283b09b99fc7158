package usdt

import (
	"slices"
	"sync/atomic"
	"unsafe"
)

// A mark is what all marks are inside.
type mark struct {
	// counter is where the semaphore is: so many bytes behind that of marks that are not loaded, which
	// is the place of a mark that nobody has declared, too.
	counter uintptr
	code    uintptr // address of the function; set before counter is

	name  string
	kinds []Kind // of the words
}

// never points to the semaphore of marks that are not loaded.
var (
	unloaded uint16
	never    = unsafe.Pointer(&unloaded)
)

// load says where function and semaphore of the mark are.
func (m *mark) load(code uintptr, semaphore unsafe.Pointer) {
	m.code = code
	atomic.StoreUintptr(&m.counter, uintptr(semaphore)-uintptr(never))
}

// semaphore is how many tracers are attached, which the kernel writes into the mapped file. It
// belongs to the kernel and is read without synchronization; the race detector does not see the other
// side.
func (m *mark) semaphore() *uint16 {
	return (*uint16)(unsafe.Add(never, atomic.LoadUintptr(&m.counter)))
}

// enabled has to be as short as this. With a test more in it, or a call, the compiler inlines Fire no
// longer; six arguments are too many for that as it is.
func (m *mark) enabled() bool {
	return *(*uint16)(unsafe.Add(never, atomic.LoadUintptr(&m.counter))) != 0
}

// A Mark has up to twelve arguments, whose kinds are told when it is made. The zero Mark never
// fires, as the zero values of the other types of marks.
type Mark struct{ mark }

// Mark declares a mark whose arguments have these kinds. It panics if the name is none, the
// provider has it already or is loaded, if a kind does not exist, or if there are more than twelve.
func (p *Provider) Mark(name string, kinds ...Kind) *Mark {
	for _, k := range kinds {
		if k < Int8 || k > Uint64 {
			panic("usdt: an argument of mark " + name + " has no kind")
		}
	}
	m := new(Mark)
	p.add(&m.mark, name, slices.Clone(kinds))
	return m
}

// Enabled reports whether a tracer is attached to the mark.
func (m *Mark) Enabled() bool { return m.enabled() }

// Fire hits the mark if it is enabled. Words that are missing are 0, those too
// many are left out. Of a word a tracer reads as many bytes as the argument's kind has.
func (m *Mark) Fire(words ...uint64) {
	if m.enabled() {
		m.fire(words)
	}
}

//go:noinline
func (m *Mark) fire(words []uint64) {
	var hit call
	hit.n = len(m.kinds)
	copy(hit.words[:hit.n], words)
	hit.at(m.code)
}
