package strace

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"testing"
)

// odd are values at which arithmetic goes wrong, and addresses.
var odd = []uint64{0, 1, 2, 16, 56, 0x1000, 0x1008, 0x2000, 0x2010, math.MaxInt32, math.MaxUint32, math.MaxInt64,
	1 << 31, 1 << 60, 1 << 63, math.MaxUint64, math.MaxUint64 - 15, 0xffff800000000000}

// hostile is a call as no sane program makes it: lengths, addresses and memory are
// made up, from odd values.
func hostile(r *rand.Rand, nr int) *Call {
	word := func() uint64 {
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

// hostileSink shows calls with the data of buffers below them.
func hostileSink(t *testing.T, out *bytes.Buffer, arch string, verbose, json bool) *Sink {
	o := Defaults(arch)
	o.Verbose, o.Column, o.JSON = verbose, 0, json
	for _, data := range []string{"read=all", "write=all"} {
		if err := o.Set(data, arch); err != nil {
			t.Fatal(err)
		}
	}
	return NewSink(out, nil, o)
}

// isHostile reports whether text could do something to a terminal or fill it.
func isHostile(text []byte) bool { return len(text) > 1<<20 || bytes.ContainsAny(text, "\x1b\x9b\r") }

// TestHostileCalls shows calls of all numbers.
func TestHostileCalls(t *testing.T) {
	for seed := range uint64(12) {
		for _, arch := range []string{"amd64", "arm64"} {
			var out bytes.Buffer
			s := hostileSink(t, &out, arch, seed%2 == 0, seed%3 == 0)
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
				if isHostile(out.Bytes()) {
					t.Errorf("%s, seed %d, %s: %d bytes, %.300q", arch, seed, s.name(nr), out.Len(), out.Bytes())
				}
				out.Reset()
			}
		}
	}
}

// FuzzCall shows a call whose arguments and memory are made of bytes.
func FuzzCall(f *testing.F) {
	f.Add(uint16(0), byte(0), []byte("\x06\x00\x05\x06\x08\x00\x00\x00\x05\x28\x0412345678\x06\x04text"))
	f.Add(uint16(16), byte(1), []byte("\x00\x03\xff\x02\x54\x00\x00\x00\x00\x00\x00\x05"))
	f.Add(uint16(46), byte(2), []byte("\x03\x02\x05\x01\x05\x38\x00\x05\x06\x07\x08\x09\x0a\x0b"))
	f.Add(uint16(59), byte(5), []byte("\x00\x05\x07\x08\x00\x00\x00\x05\x10\x07\x08\x07\x03/sh"))
	f.Fuzz(func(t *testing.T, nr uint16, how byte, data []byte) {
		take := func(n int) []byte {
			b := data[:min(n, len(data))]
			data = data[len(b):]
			return append(b[:len(b):len(b)], make([]byte, n-len(b))...)
		}
		word := func() uint64 { // the number of an odd one, or its own bytes
			if n := int(take(1)[0]); n < len(odd) {
				return odd[n]
			}
			return binary.LittleEndian.Uint64(take(8))
		}
		c := &Call{Nr: int(nr), TID: 7, PID: 7, Enter: 1, Exit: 2, Result: int64(word()), Unfinished: how&1 != 0,
			noted: &noted{}}
		for i := range c.Args {
			c.Args[i] = word()
		}
		for len(data) > 0 && len(c.mem) < 64 {
			m := chunk{addr: word()}
			kind := take(2)
			m.early, m.lost = kind[1]&1 != 0, kind[1]&2 != 0
			if m.data = take(int(kind[0])); kind[1]&4 != 0 {
				for i := 0; i+8 <= len(m.data); i += 8 {
					binary.NativeEndian.PutUint64(m.data[i:], odd[int(m.data[i])%len(odd)])
				}
			}
			c.mem = append(c.mem, m)
		}
		var out bytes.Buffer
		s := hostileSink(t, &out, []string{"amd64", "arm64"}[how>>1&1], how&4 != 0, how&8 != 0)
		s.call(&thread{tid: c.TID}, c)
		if s.w.Flush(); isHostile(out.Bytes()) {
			t.Errorf("%d bytes, %.300q", out.Len(), out.Bytes())
		}
	})
}
