package irgen

import (
	"encoding/binary"
	"fmt"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/ir/eval"
)

// A World is the memory that programs of this package work on, and what the
// helpers tell them.
// One is made for each of the two runs that are compared, from the same seed.
type World struct {
	Context []byte
	Data    []byte
	Values  [MapEntries][]byte
	Scratch [][]byte // by CPU and slot; nil: a program must not ask for it
	CPU     uint32
	PidTgid uint64
}

// NewWorld fills a world from a seed.
// Small numbers are frequent: comparisons with constants should go either way.
func NewWorld(seed uint64) *World {
	w := &World{Context: make([]byte, ContextSize), Data: make([]byte, DataSize+8), CPU: 1, PidTgid: 1234<<32 | 1235}
	x := seed
	// A generator of its own makes the same world in every version of Go.
	next := func() uint64 { // splitmix64
		x += 0x9e3779b97f4a7c15
		z := (x ^ x>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		return z ^ z>>31
	}
	for i := 0; i < ContextSize; i += 8 {
		n := next()
		if n%3 == 0 {
			n %= 16
		}
		binary.NativeEndian.PutUint64(w.Context[i:], n)
	}
	for i := 0; i < DataSize; i += 8 {
		binary.NativeEndian.PutUint64(w.Data[i:], next()%1000)
	}
	for i := range w.Values {
		w.Values[i] = make([]byte, ValueSize)
		for k := range ValueSize {
			w.Values[i][k] = byte(next())
		}
	}
	return w
}

// Run evaluates p in the world, which changes.
// The result is what the program returns; the rest is to be compared in the world.
func (w *World) Run(p *ir.Prog) (uint64, error) { return w.Machine().Run(p) }

// Machine is a machine with the world's memory and helpers, for one run.
// Helpers are known by their numbers in the kernel: 1 is a lookup, 8 the CPU, 14 process and
// thread, 181 bpf_loop.
func (w *World) Machine() *eval.Machine {
	var values [MapEntries]uint64
	var scratch []uint64
	m := &eval.Machine{Context: w.Context, Data: w.Data}
	m.Call = func(m *eval.Machine, n int64, args []uint64) (uint64, error) {
		switch n {
		case 1:
			if values[0] == 0 {
				for i := range values {
					values[i] = m.Add(w.Values[i])
				}
				for _, s := range w.Scratch {
					scratch = append(scratch, m.Add(s))
				}
			}
			mem, err := m.Bytes(args[1], 4)
			if err != nil {
				return 0, err
			}
			key := int(binary.NativeEndian.Uint32(mem))
			list := values[:]
			if n, ok := eval.MapNumber(args[0]); !ok {
				return 0, fmt.Errorf("lookup in %#x", args[0])
			} else if n == Scratch {
				list = scratch
			}
			if key >= len(list) {
				return 0, nil
			}
			return list[key], nil
		case 8:
			return uint64(w.CPU), nil
		case 14:
			return w.PidTgid, nil
		case 181:
			for i := range args[0] {
				stop, err := m.Invoke(args[1], i, args[2])
				if err != nil {
					return 0, err
				}
				if stop != 0 {
					return i + 1, nil
				}
			}
			return args[0], nil
		}
		return 0, fmt.Errorf("no helper %d", n)
	}
	return m
}
