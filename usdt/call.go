package usdt

import (
	"runtime"
	"sync"
	"unsafe"
)

// maxWords is how many words a mark can have. There are registers for as many.
const maxWords = 12

// A call is one hit of a mark that is enabled.
type call struct {
	words [maxWords]uint64 // what the registers get
	// addresses are words that are addresses of Go's memory. They become numbers at the last
	// moment, since a stack can move up to then.
	addresses [maxWords]unsafe.Pointer
	n         int
	texts     *[]byte // copies of strings, nil if there are none
}

// texts has buffers for copies of strings.
var texts = sync.Pool{New: func() any { return new([]byte) }}

// maxKept is the size in bytes of buffers that are kept for later.
const maxKept = 1 << 16

// add appends an argument, which is at v.
func (c *call) add(f form, v unsafe.Pointer) {
	switch f {
	case int8Form:
		c.words[c.n] = uint64(*(*int8)(v))
	case uint8Form:
		c.words[c.n] = uint64(*(*uint8)(v))
	case int16Form:
		c.words[c.n] = uint64(*(*int16)(v))
	case uint16Form:
		c.words[c.n] = uint64(*(*uint16)(v))
	case int32Form:
		c.words[c.n] = uint64(*(*int32)(v))
	case uint32Form:
		c.words[c.n] = uint64(*(*uint32)(v))
	case wordForm:
		c.words[c.n] = *(*uint64)(v)
	case stringForm:
		c.addresses[c.n] = c.copy(*(*string)(v))
	case bytesForm:
		b := *(*[]byte)(v)
		c.addresses[c.n] = hide(unsafe.Pointer(unsafe.SliceData(b)))
		c.n++
		c.words[c.n] = uint64(len(b))
	}
	c.n++
}

// hide keeps an address from the compiler. That would put what it leads to on the heap, also while
// nobody traces. A call lives on the stack and is over before the caller goes on.
//
//go:nosplit
func hide(p unsafe.Pointer) unsafe.Pointer {
	x := uintptr(p)
	return *(*unsafe.Pointer)(unsafe.Pointer(&x))
}

// copy returns the address of a copy of a string that ends in NUL. A buffer that grows leaves earlier
// copies where they are.
func (c *call) copy(s string) unsafe.Pointer {
	if c.texts == nil {
		c.texts = texts.Get().(*[]byte)
	}
	b := *c.texts
	start := len(b)
	b = append(append(b, s...), 0)
	*c.texts = b
	return unsafe.Pointer(&b[start])
}

// at calls the function of a mark, which is at an address.
func (c *call) at(code uintptr) {
	c.jump(code)
	runtime.KeepAlive(c)
	if c.texts != nil && cap(*c.texts) <= maxKept {
		*c.texts = (*c.texts)[:0]
		texts.Put(c.texts)
	}
}

// jump makes numbers of the addresses and calls. Nothing it calls can grow the
// stack, and a goroutine that is interrupted here keeps its stack where it is.
//
//go:nosplit
func (c *call) jump(code uintptr) {
	for i := range c.n {
		if p := c.addresses[i]; p != nil {
			c.words[i] = uint64(uintptr(p))
		}
	}
	switch {
	case c.n <= 2:
		call2(code, &c.words)
	case c.n <= 6:
		call6(code, &c.words)
	default:
		call12(code, &c.words)
	}
}
