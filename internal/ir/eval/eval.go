// Package eval runs IR on a simulated machine. Tests use it to show that a
// pass, or all of the compiler behind lowering, keeps what a program computes.
package eval

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/hawktrace/hawk/internal/ir"
)

// A Machine is the memory and the helpers a program runs with. Addresses are
// made up: each piece of memory has a range of 4 GB to itself, so that an
// access out of bounds is an error and never another piece.
type Machine struct {
	Context []byte
	Data    []byte // the data map
	// Call does helper n; Kfunc a kernel function. Nil: calls are errors.
	Call  func(m *Machine, n int64, args []uint64) (uint64, error)
	Kfunc func(m *Machine, name string, args []uint64) (uint64, error)
	// Callback runs the function at an address instead of Invoke; for machines
	// that run something other than IR on this memory.
	Callback func(fn uint64, args []uint64) (uint64, error)
	Steps    int // values to run before giving up; 0: a million

	prog   *ir.Prog
	pieces [][]byte // by address >> 32, less one
}

// ErrSteps means that a program ran longer than allowed.
var ErrSteps = errors.New("too many steps")

// Addresses of what is not memory.
const (
	MapBase  = 1 << 60 // + map number
	FuncBase = 1 << 61 // + index in Prog.Funcs
)

// MapNumber returns the number of the map that a helper got as argument.
func MapNumber(arg uint64) (int, bool) { return int(arg - MapBase), arg >= MapBase && arg < FuncBase }

// Add makes mem accessible to the program and returns its address.
func (m *Machine) Add(mem []byte) uint64 {
	m.pieces = append(m.pieces, mem)
	return uint64(len(m.pieces)) << 32
}

// Bytes is the memory at addr, n bytes of it.
func (m *Machine) Bytes(addr uint64, n int) ([]byte, error) {
	piece, off := addr>>32, addr&(1<<32-1)
	if piece == 0 || piece > uint64(len(m.pieces)) || off+uint64(n) > uint64(len(m.pieces[piece-1])) {
		return nil, fmt.Errorf("access to %d bytes at %#x", n, addr)
	}
	return m.pieces[piece-1][off:][:n], nil
}

// Run runs the main function of p and returns its result.
func (m *Machine) Run(p *ir.Prog) (uint64, error) {
	m.prog = p
	return m.call(p.Funcs[0], []uint64{m.Reset()})
}

// Reset forgets all memory but the context and the data map, and returns the
// address of the context.
func (m *Machine) Reset() (ctx uint64) {
	m.pieces = nil
	if m.Steps == 0 {
		m.Steps = 1e6
	}
	ctx = m.Add(m.Context)
	m.Add(m.Data)
	return ctx
}

// DataAddr is the address of the data map.
const DataAddr = 2 << 32

// Invoke calls the callback whose address a helper got.
func (m *Machine) Invoke(fn uint64, args ...uint64) (uint64, error) {
	if m.Callback != nil {
		return m.Callback(fn, args)
	}
	i := fn - FuncBase
	if fn < FuncBase || i >= uint64(len(m.prog.Funcs)) {
		return 0, fmt.Errorf("call of %#x", fn)
	}
	return m.call(m.prog.Funcs[i], args)
}

// junk fills memory that has not been written, so that reading it shows.
const junk = 0xa5

// A frame is a call that is evaluated.
type frame struct {
	m       *Machine
	f       *ir.Func
	args    []uint64
	values  []uint64
	objects []uint64 // addresses, by object ID
}

func (m *Machine) call(f *ir.Func, args []uint64) (uint64, error) {
	fr := &frame{m: m, f: f, args: args, values: make([]uint64, f.NumValues()), objects: make([]uint64, f.NumObjects())}
	// Placed objects share the bytes of one frame, as they will on the stack.
	stack := m.Add(fill(512))
	for _, o := range f.Objects {
		if o.Offset > 0 {
			fr.objects[o.ID] = stack + 512 - uint64(o.Offset)
		} else {
			fr.objects[o.ID] = m.Add(fill(o.Size))
		}
	}
	var from *ir.Block
	for b := f.Entry(); ; {
		next, result, err := fr.block(b, from)
		if err != nil {
			return 0, fmt.Errorf("%s %s: %w", f.Name, b, err)
		}
		if next == nil {
			return result, nil
		}
		from, b = b, next
	}
}

func fill(n int) []byte {
	mem := make([]byte, n)
	for i := range mem {
		mem[i] = junk
	}
	return mem
}

// block evaluates a block that was entered from another: the next one, or the result.
func (fr *frame) block(b, from *ir.Block) (next *ir.Block, result uint64, err error) {
	phis := b.Phis()
	if len(phis) > 0 {
		k := 0
		for b.Preds[k] != from {
			k++
		}
		// All phis read before any is written. Where one block leads here by
		// two edges, their arguments are told apart by the branch below.
		if fr.second(b, from) {
			for k++; b.Preds[k] != from; k++ {
			}
		}
		in := make([]uint64, len(phis))
		for i, v := range phis {
			in[i] = fr.values[v.Args[k].ID]
		}
		for i, v := range phis {
			fr.values[v.ID] = in[i]
		}
	}
	for _, v := range b.Values[len(phis):] {
		if fr.m.Steps--; fr.m.Steps < 0 {
			return nil, 0, ErrSteps
		}
		x, err := fr.value(v)
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w", v, err)
		}
		fr.values[v.ID] = x
	}
	fr.m.Steps--
	if fr.m.Steps < 0 {
		return nil, 0, ErrSteps
	}
	switch b.Kind {
	case ir.Jump, ir.MayGoto:
		return b.Succs[0], 0, nil
	case ir.If:
		if fr.values[b.Ctl.ID] != 0 {
			return b.Succs[0], 0, nil
		}
		return b.Succs[1], 0, nil
	}
	if b.Ctl != nil {
		result = fr.values[b.Ctl.ID]
	}
	return nil, result, nil
}

// second reports whether b was entered by the second of two edges from one block.
func (fr *frame) second(b, from *ir.Block) bool {
	return from.Kind == ir.If && from.Succs[0] == b && from.Succs[1] == b && fr.values[from.Ctl.ID] == 0
}

// value evaluates one value.
func (fr *frame) value(v *ir.Value) (uint64, error) {
	m := fr.m
	var args [5]uint64
	for i, a := range v.Args {
		args[i] = fr.values[a.ID]
	}
	x, y := args[0], args[1]
	switch v.Op {
	case ir.Const:
		return uint64(v.Imm), nil
	case ir.Param:
		if int(v.Imm) >= len(fr.args) {
			return 0, errors.New("missing argument")
		}
		return fr.args[v.Imm], nil
	case ir.Addr:
		return fr.objects[v.Obj.ID] + uint64(v.Imm), nil
	case ir.DataPtr:
		return DataAddr + uint64(v.Imm), nil
	case ir.MapPtr:
		return MapBase + uint64(v.Imm), nil
	case ir.FuncPtr:
		for i, f := range m.prog.Funcs {
			if f == v.Fn {
				return FuncBase + uint64(i), nil
			}
		}
		return 0, errors.New("no such function")
	case ir.Load:
		mem, err := m.Bytes(x+uint64(v.Imm), int(v.Size))
		if err != nil {
			return 0, err
		}
		return ir.Extend(get(mem), v.Size, v.Sign), nil
	case ir.Store:
		mem, err := m.Bytes(x+uint64(v.Imm), int(v.Size))
		if err == nil {
			put(mem, y)
		}
		return 0, err
	case ir.Zero:
		mem, err := m.Bytes(x+uint64(v.Imm), v.Len)
		clear(mem)
		return 0, err
	case ir.Copy:
		dst, err := m.Bytes(x+uint64(v.Imm), v.Len)
		if err != nil {
			return 0, err
		}
		src, err := m.Bytes(y, v.Len)
		copy(dst, src)
		return 0, err
	case ir.AtomicAdd, ir.AtomicFetchAdd, ir.AtomicXchg, ir.AtomicCmpXchg:
		return fr.atomic(v, args)
	case ir.Call:
		if m.Call == nil {
			return 0, errors.New("no helpers")
		}
		return m.Call(m, v.Imm, args[:len(v.Args)])
	case ir.CallKfunc:
		if m.Kfunc == nil {
			return 0, errors.New("no kernel functions")
		}
		return m.Kfunc(m, v.Sym, args[:len(v.Args)])
	}
	if r, ok := ir.Compute(v.Op, v.Size, v.Sign, x, y); ok {
		return r, nil
	}
	return 0, fmt.Errorf("cannot run %s", v.Op)
}

func (fr *frame) atomic(v *ir.Value, args [5]uint64) (uint64, error) {
	mem, err := fr.m.Bytes(args[0]+uint64(v.Imm), int(v.Size))
	if err != nil {
		return 0, err
	}
	old := get(mem)
	switch {
	case v.Op == ir.AtomicXchg:
		put(mem, args[1])
	case v.Op != ir.AtomicCmpXchg:
		put(mem, old+args[1])
	case old == ir.Extend(args[1], v.Size, false):
		put(mem, args[2])
	}
	return old, nil
}

func get(mem []byte) uint64 {
	switch len(mem) {
	case 1:
		return uint64(mem[0])
	case 2:
		return uint64(binary.NativeEndian.Uint16(mem))
	case 4:
		return uint64(binary.NativeEndian.Uint32(mem))
	}
	return binary.NativeEndian.Uint64(mem)
}

func put(mem []byte, x uint64) {
	switch len(mem) {
	case 1:
		mem[0] = byte(x)
	case 2:
		binary.NativeEndian.PutUint16(mem, uint16(x))
	case 4:
		binary.NativeEndian.PutUint32(mem, uint32(x))
	default:
		binary.NativeEndian.PutUint64(mem, x)
	}
}
