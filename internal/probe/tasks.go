package probe

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
)

// Tasks are those whose events are wanted: of each list that is not empty, a task has to
// be in one of it.
type Tasks struct {
	Cgroups []machine.ControlGroup // these and what is below them
	UIDs    []uint32               // as the machine's own user namespace has them
	Comms   []Comm                 // names of tasks
}

// All reports whether every task is wanted.
func (t *Tasks) All() bool { return len(t.Cgroups) == 0 && len(t.UIDs) == 0 && len(t.Comms) == 0 }

// GuardTasks emits the tests for the tasks that are wanted.
func (c *Context) GuardTasks() {
	if c.Own {
		return
	}
	for _, test := range c.O.Tasks.tests() {
		c.Guard(test(c))
	}
}

// OfTasks is whether the current task is wanted, as a number; nil: each is.
func (c *Context) OfTasks() *ir.Value {
	var all *ir.Value
	for _, test := range c.O.Tasks.tests() {
		if v := test(c); all == nil {
			all = v
		} else {
			all = c.B.Arith(ir.And, all, v)
		}
	}
	return all
}

// tests are what emits whether the current task is in each list.
func (t *Tasks) tests() (tests []func(*Context) *ir.Value) {
	if len(t.Cgroups) > 0 {
		tests = append(tests, inCgroups)
	}
	if len(t.UIDs) > 0 {
		tests = append(tests, ofUsers)
	}
	if len(t.Comms) > 0 {
		tests = append(tests, hasName)
	}
	return tests
}

// any is whether one of the values is not zero, given as 0 or 1 each.
func (c *Context) any(vs []*ir.Value) *ir.Value {
	v := vs[0]
	for _, w := range vs[1:] {
		v = c.B.Arith(ir.Or, v, w)
	}
	return v
}

// inCgroups asks the kernel for what is above the task, which it names by its level.
func inCgroups(c *Context) *ir.Value {
	b := c.B
	ancestor := ancestorByHelper
	if c.O.Machine.Has(machine.AncestorCgroup) != nil {
		ancestor = ancestorByReading
	}
	var in []*ir.Value
	above := map[int]*ir.Value{} // by level
	for _, g := range c.O.Tasks.Cgroups {
		id := above[g.Level]
		if id == nil {
			id = ancestor(c, g.Level)
			above[g.Level] = id
		}
		in = append(in, b.Eq(id, int64(g.ID)))
	}
	return c.any(in)
}

// ancestorByHelper is the number of the group of a level above the current task, 0 if there is none.
func ancestorByHelper(c *Context, level int) *ir.Value {
	return c.B.Call(int(asm.FnGetCurrentAncestorCgroupId), c.B.Const(int64(level)))
}

// ancestorByReading is the same of kernels without the helper, where a group has the numbers of all
// that are above it.
func ancestorByReading(c *Context, level int) *ir.Value {
	b := c.B
	tmp := b.Addr(b.NewObject("cgroup", 8, 8), 0)
	// Where a member is not there, Machine.ControlGroup has said so.
	read := func(p *ir.Value, of, member string, plus, size int) *ir.Value {
		off, _ := c.O.Machine.Offset(of, member)
		b.Zero(tmp, 0, 8)
		b.Call(int(asm.FnProbeReadKernel), tmp, b.Const(int64(size)), b.Add(p, int64(off+plus)))
		return b.Load(tmp, 0, size, false)
	}
	group := read(b.Call(int(asm.FnGetCurrentTask)), "task_struct", "cgroups", 0, 8)
	group = read(group, "css_set", "dfl_cgrp", 0, 8)
	deep := read(group, "cgroup", "level", 0, 4)
	id := read(group, "cgroup", machine.AncestorIDs, 8*level, 8)
	return b.Arith(ir.Mul, id, b.Arith(ir.ULe, b.Const(int64(level)), deep))
}

func ofUsers(c *Context) *ir.Value {
	b := c.B
	uid := b.Ext(b.Call(int(asm.FnGetCurrentUidGid)), 4, false)
	var of []*ir.Value
	for _, want := range c.O.Tasks.UIDs {
		of = append(of, b.Eq(uid, int64(want)))
	}
	return c.any(of)
}

func hasName(c *Context) *ir.Value {
	b := c.B
	name := b.NewObject("comm", commSize, 8)
	name.Stack = true
	p := b.Addr(name, 0)
	b.Zero(p, 0, commSize)
	b.Call(int(asm.FnGetCurrentComm), p, b.Const(commSize))
	var has []*ir.Value
	for _, comm := range c.O.Tasks.Comms {
		has = append(has, comm.match(b, p))
	}
	return c.any(has)
}

// commSize is the kernel's room for the name of a task, with the NUL that ends it.
const commSize = 16

// A Comm is a pattern of names of tasks, in which * is any text and ? any byte.
type Comm struct {
	parts []byte // the bytes to match
	wild  uint64 // bit n: part n is ?, which matches any byte
	gaps  uint64 // bit n: there is a * in front of part n, that of len(parts) behind the last
}

// ParseComm reads a pattern. The kernel cuts names off behind 15 bytes, and so is a name
// that is no pattern.
func ParseComm(pattern string) (Comm, error) {
	var m Comm
	for _, c := range []byte(pattern) {
		switch at := uint64(1) << min(len(m.parts), 63); c {
		case '*':
			m.gaps |= at
			continue
		case '?':
			m.wild |= at
		case 0:
			return m, fmt.Errorf("%q has a NUL in it", pattern)
		}
		m.parts = append(m.parts, c)
	}
	const most = commSize - 1
	switch {
	case pattern == "":
		return m, fmt.Errorf("the name is empty")
	case len(m.parts) <= most:
	case strings.ContainsAny(pattern, "*?"):
		return m, fmt.Errorf("%q matches nothing: names of tasks have at most %d bytes", pattern, most)
	default:
		m.parts = m.parts[:most]
	}
	return m, nil
}

// match emits whether the name at p, which NULs fill up, matches: 1 or 0.
func (m Comm) match(b *ir.Builder, p *ir.Value) *ir.Value {
	if m.wild == 0 && m.gaps&^(1<<len(m.parts)) == 0 {
		return m.start(b, p)
	}
	return m.walk(b, p)
}

// start emits the comparison of the first bytes: of all and the NUL behind them, unless
// anything may follow.
func (m Comm) start(b *ir.Builder, p *ir.Value) *ir.Value {
	var want, mask [commSize]byte
	n := copy(want[:], m.parts)
	if m.gaps == 0 {
		n++
	}
	for i := range n {
		mask[i] = 0xff
	}
	const word = commSize / 2
	var differ *ir.Value
	for at := 0; at < n; at += word {
		text := binary.LittleEndian.Uint64(want[at:])
		of := binary.LittleEndian.Uint64(mask[at:])
		d := b.And(b.Xor(b.Load(p, at, word, false), int64(text)), int64(of))
		if differ != nil {
			d = b.Arith(ir.Or, differ, d)
		}
		differ = d
	}
	if differ == nil {
		return b.Const(1) // "*"
	}
	return b.Eq(differ, 0)
}

// walk emits a walk of all the ways in which the pattern can match at once: bit n of the
// state is set while the bytes so far match the first n parts. It has no branches, of
// which the verifier would follow each.
func (m Comm) walk(b *ir.Builder, p *ir.Value) *ir.Value {
	places := map[byte]uint64{} // the parts that a byte matches, beside the wild ones
	var bytes []byte            // in the order of the pattern
	for i, c := range m.parts {
		if m.wild>>i&1 == 0 {
			if places[c] == 0 {
				bytes = append(bytes, c)
			}
			places[c] |= 1 << i
		}
	}
	num := func(n uint64) *ir.Value { return b.Const(int64(n)) }
	// below is whether a number is below 0. The verifier goes two ways behind a mask of all ones
	// or none, but one way behind a product.
	below := func(v *ir.Value) *ir.Value { return b.Arith(ir.LShr, v, num(63)) }
	state := num(1)
	for at := range commSize - 1 {
		c := b.U8(p, at)
		matched := num(m.wild)
		for _, want := range bytes {
			same := below(b.Arith(ir.Sub, b.Arith(ir.Xor, c, num(uint64(want))), num(1)))
			matched = b.Arith(ir.Or, matched, b.Arith(ir.Mul, same, num(places[want])))
		}
		next := b.Arith(ir.Or,
			b.Arith(ir.Shl, b.Arith(ir.And, state, matched), num(1)),
			b.Arith(ir.And, state, num(m.gaps)))
		more := below(b.Arith(ir.Sub, num(0), c)) // 0 behind the end of the name
		state = b.Arith(ir.Xor, state, b.Arith(ir.Mul, b.Arith(ir.Xor, state, next), more))
	}
	return b.Arith(ir.And, b.Arith(ir.LShr, state, num(uint64(len(m.parts)))), num(1))
}
