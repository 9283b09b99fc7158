package strace

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"testing"
)

// hostile is a call as no sane program makes it: lengths, addresses and memory are
// made up, from values at which arithmetic goes wrong.
func hostile(r *rand.Rand, nr int) *Call {
	word := func() uint64 {
		odd := []uint64{0, 1, 2, 16, 56, 0x1000, 0x1008, 0x2000, 0x2010, math.MaxInt32, math.MaxUint32, math.MaxInt64,
			1 << 31, 1 << 60, 1 << 63, math.MaxUint64, math.MaxUint64 - 15, 0xffff800000000000}
		if r.IntN(8) == 0 {
			return r.Uint64()
		}
		return odd[r.IntN(len(odd))]
	}
	c := &Call{Nr: nr, TID: 7, PID: 7, Enter: 1, Exit: 2, Result: int64(word()), Unfinished: r.IntN(16) == 0,
		noted: &noted{}}
	if r.IntN(2) == 0 {
		c.Result = int64(r.IntN(64))
	}
	for i := range c.Args {
		c.Args[i] = word()
	}
	for _, addr := range []uint64{0x1000, 0x2000, 0x1008, 0x2010, math.MaxUint64 - 15} {
		data := make([]byte, r.IntN(12)*r.IntN(12))
		for i := range data {
			if data[i] = byte(r.Uint32()); i%8 == 0 && i+8 <= len(data) && r.IntN(3) > 0 {
				binary.NativeEndian.PutUint64(data[i:], word())
			}
		}
		c.mem = append(c.mem, chunk{addr: addr, data: data, early: r.IntN(2) == 0, lost: r.IntN(8) == 0})
	}
	return c
}

// TestHostileCalls shows calls of all numbers, with the data of buffers below them.
func TestHostileCalls(t *testing.T) {
	for seed := range uint64(12) {
		for _, arch := range []string{"amd64", "arm64"} {
			o := Defaults(arch)
			o.Verbose, o.Column, o.JSON = seed%2 == 0, 0, seed%3 == 0
			for _, data := range []string{"read=all", "write=all"} {
				if err := o.Set(data, arch); err != nil {
					t.Fatal(err)
				}
			}
			var out bytes.Buffer
			s := NewSink(&out, nil, o)
			r := rand.New(rand.NewPCG(seed, 1))
			for nr := range len(s.names) + 8 {
				c := hostile(r, nr)
				show := func() {
					defer func() {
						if p := recover(); p != nil {
							t.Errorf("%s, seed %d, %s%#x: %v\n%s", arch, seed, s.name(nr), c.Args, p, debug.Stack())
						}
					}()
					s.call(&thread{tid: c.TID}, c)
				}
				show()
				s.w.Flush()
				if out.Len() > 1<<20 || bytes.ContainsAny(out.Bytes(), "\x1b\x9b\r") {
					t.Errorf("%s, seed %d, %s: %d bytes, %.300q", arch, seed, s.name(nr), out.Len(), out.Bytes())
				}
				out.Reset()
			}
		}
	}
}
