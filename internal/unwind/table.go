package unwind

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/object"
)

// A Table has the rules of one file.
type Table struct {
	// Base is the lowest address of the file, which positions count from.
	Base uint64
	// Frames says that the code keeps frame pointers.
	Frames bool

	rows   []row
	begins []code
}

// code is from an address on, up to another.
type code struct{ start, end uint64 }

// maxBegins bounds the places that are kept of a file; most have one or two.
const maxBegins = 256

// begins are where threads begin, which nobody has called: the stretches of code
// with a rule that ends stacks.
func begins(rows []row) (out []code) {
	for i := range rows[:len(rows)-1] {
		if rows[i].rule.Kind() == object.RuleEnd && len(out) < maxBegins {
			out = append(out, code{rows[i].addr, rows[i+1].addr})
		}
	}
	return out
}

// NewTable makes the table of a file; nil without an error if the file has no
// call frame information.
func NewTable(f *exe.File) (*Table, error) {
	rs, err := rows(f)
	if err != nil || len(rs) == 0 {
		return nil, err
	}
	// Positions have 32 bits, which the kernel maps have room for.
	low, high := f.Span()
	if high-low >= math.MaxUint32 || rs[0].addr < low || rs[len(rs)-1].addr > high {
		return nil, fmt.Errorf("%s: unwinding information about code that is not in it", f.Path)
	}
	return &Table{Base: low, Frames: keepsFrames(rs), rows: rs, begins: begins(rs)}, nil
}

// keepsFrames tells code compiled with frame pointers, in which the stack
// pointer is what counts for a few instructions of each function only.
func keepsFrames(rows []row) bool {
	var all, bare uint64
	for i := range rows[:len(rows)-1] {
		n := rows[i+1].addr - rows[i].addr
		switch rows[i].rule.Kind() {
		case object.RuleSP:
			bare += n
			all += n
		case object.RuleFP, object.RuleSaved:
			all += n
		}
	}
	// A fifth leaves room for prologues, and for the assembly that each program has some of.
	return bare*5 < all
}

// Rule is the rule for an address of the file.
func (t *Table) Rule(addr uint64) object.Rule {
	rule := object.Rule(object.RuleNone)
	for lo, hi := 0, len(t.rows); lo < hi; {
		if mid := (lo + hi) / 2; t.rows[mid].addr <= addr {
			rule, lo = t.rows[mid].rule, mid+1
		} else {
			hi = mid
		}
	}
	return rule
}

// beginsAt reports whether a thread begins in the code at an address of the file.
func (t *Table) beginsAt(addr uint64) bool {
	return slices.ContainsFunc(t.begins, func(c code) bool { return c.start <= addr && addr < c.end })
}

// chunks are the contents of the table's chunks for the kernel, the first of
// which is the index; they are numbered from first.
func (t *Table) chunks(first uint32) ([][]byte, error) {
	// Programs search the index and then one chunk, in as many steps each: loops of the verifier
	// are short then.
	const n = object.UnwindRows
	index := newChunk()
	out := [][]byte{index}
	for i, rows := 0, t.rows; len(rows) > 0; i++ {
		// The index is one chunk: a file has as many chunks as that has rows.
		if i == n {
			return nil, fmt.Errorf("more than %d unwinding rules", n*n)
		}
		c := newChunk()
		part := rows[:min(n, len(rows))]
		rows = rows[len(part):]
		for j := range part {
			putRow(c, j, uint32(part[j].addr-t.Base), uint32(part[j].rule))
		}
		// The search takes the first row for granted: below the first rule of all
		// there is none.
		at := uint32(part[0].addr - t.Base)
		if i == 0 {
			if at > 0 && len(part) < n {
				copy(c[object.UnwindRowSize:], c[:len(part)*object.UnwindRowSize])
				putRow(c, 0, 0, object.RuleNone)
			}
			at = 0
		}
		putRow(index, i, at, first+uint32(len(out)))
		out = append(out, c)
	}
	return out, nil
}

// newChunk is one without rows.
func newChunk() []byte {
	c := make([]byte, object.UnwindChunk)
	for j := range object.UnwindRows {
		putRow(c, j, math.MaxUint32, object.RuleNone)
	}
	return c
}

func putRow(c []byte, j int, position, payload uint32) {
	binary.NativeEndian.PutUint32(c[j*object.UnwindRowSize:], position)
	binary.NativeEndian.PutUint32(c[j*object.UnwindRowSize+4:], payload)
}
