package unwind

import (
	"bytes"

	"github.com/hawktrace/hawk/internal/object"
)

// A machine runs the instructions of functions and yields their rows.
type machine struct {
	s     *section
	stack []state // remembered
}

// maxRemembered bounds the states that a function can put aside.
const maxRemembered = 64

// A state is the rule at an address, as far as unwinding by three registers
// needs it.
type state struct {
	cfa    rule // of the CFA itself
	fp, ra rule
}

// A rule says how a value is found.
type rule struct {
	kind   ruleKind
	reg    uint64
	offset int64
	expr   []byte
}

// A ruleKind is how a register is found.
type ruleKind uint8

const (
	same      ruleKind = iota // the register has it
	undefined                 // it is lost; of the return address: nobody called
	atCFA                     // in memory at CFA + offset
	register                  // register reg + offset
	other                     // expr, or what else the format cannot say
)

func newMachine(s *section) *machine { return &machine{s: s} }

// function appends the rows of the function whose entry has the given bounds,
// and an end.
func (m *machine) function(c *cie, from, to int, out []row) []row {
	r := newReader(m.s.data[:to], from)
	start := m.s.pointer(&r, c.encoding)
	size := r.value(c.encoding & 0x0f)
	if c.augmented {
		r.Bytes(r.ULEB())
	}
	// A reader that came to the end has read zeroes, which are no function.
	if r.Bad || size == 0 || start == 0 || start+size < start {
		return out // functions that the linker dropped begin at 0
	}
	if c.signal {
		return append(out, row{start, object.NewRule(object.RuleSignal, 0, 0)}, row{start + size, object.RuleNone})
	}
	if c.failed {
		return append(out, row{start, object.RuleFail}, row{start + size, object.RuleNone})
	}
	s := c.initial
	out, ok := m.run(c, r.Data[r.At:], &s, &c.initial, start, start+size, out)
	if !ok {
		return append(out, row{start, object.RuleFail}, row{start + size, object.RuleNone})
	}
	return append(out, row{start + size, object.RuleNone})
}

// Instructions (DW_CFA_*). Of those in the upper two bits, the lower six are
// the first operand.
const (
	cfaAdvance        = 0x40
	cfaOffset         = 0x80
	cfaRestore        = 0xc0
	cfaNop            = 0x00
	cfaSet            = 0x01
	cfaAdvance1       = 0x02
	cfaAdvance2       = 0x03
	cfaAdvance4       = 0x04
	cfaOffsetExt      = 0x05
	cfaRestoreExt     = 0x06
	cfaUndefined      = 0x07
	cfaSame           = 0x08
	cfaRegister       = 0x09
	cfaRemember       = 0x0a
	cfaRestoreState   = 0x0b
	cfaDef            = 0x0c
	cfaDefReg         = 0x0d
	cfaDefOffset      = 0x0e
	cfaDefExpr        = 0x0f
	cfaExpr           = 0x10
	cfaOffsetExtSF    = 0x11
	cfaDefSF          = 0x12
	cfaDefOffsetSF    = 0x13
	cfaValOffset      = 0x14
	cfaValOffsetSF    = 0x15
	cfaValExpr        = 0x16
	cfaSignedReturn   = 0x2d // DW_CFA_AARCH64_negate_ra_state; elsewhere not in use
	cfaArgsSize       = 0x2e
	cfaNegativeOffset = 0x2f
)

// run executes instructions from s on. With rows to make, each change of
// address appends the rule for the code before it. init is what restore goes
// back to.
func (m *machine) run(c *cie, code []byte, s, init *state, addr, end uint64, out []row) ([]row, bool) {
	r := newReader(code, 0)
	m.stack = m.stack[:0]
	from := len(out)
	emit := func(next uint64) bool {
		if init == nil || next < addr || next > end {
			return false
		}
		if next > addr {
			if rule := m.s.pack(s); len(out) == from || out[len(out)-1].rule != rule {
				out = append(out, row{addr, rule})
			}
			addr = next
		}
		return true
	}
	set := func(reg uint64, to rule) {
		switch reg {
		case m.s.regs.fp:
			s.fp = to
		case m.s.regs.ra:
			s.ra = to
		}
	}
	restore := func(reg uint64) bool {
		if init == nil {
			return false
		}
		switch reg {
		case m.s.regs.fp:
			s.fp = init.fp
		case m.s.regs.ra:
			s.ra = init.ra
		}
		return true
	}
	ok := true
	for ok && r.More() {
		op := r.Byte()
		low := uint64(op & 0x3f)
		switch op & 0xc0 {
		case cfaAdvance:
			ok = emit(addr + low*c.codeAlign)
			continue
		case cfaOffset:
			set(low, rule{kind: atCFA, offset: int64(r.ULEB()) * c.dataAlign})
			continue
		case cfaRestore:
			ok = restore(low)
			continue
		}
		switch op {
		case cfaNop:
		case cfaSignedReturn: // programs drop the signature of every return address
		case cfaSet:
			ok = emit(m.s.pointer(&r, c.encoding))
		case cfaAdvance1:
			ok = emit(addr + uint64(r.Byte())*c.codeAlign)
		case cfaAdvance2:
			ok = emit(addr + r.value(peU2)*c.codeAlign)
		case cfaAdvance4:
			ok = emit(addr + r.value(peU4)*c.codeAlign)
		case cfaOffsetExt:
			set(r.ULEB(), rule{kind: atCFA, offset: int64(r.ULEB()) * c.dataAlign})
		case cfaOffsetExtSF:
			set(r.ULEB(), rule{kind: atCFA, offset: r.SLEB() * c.dataAlign})
		case cfaNegativeOffset:
			set(r.ULEB(), rule{kind: atCFA, offset: -int64(r.ULEB()) * c.dataAlign})
		case cfaRestoreExt:
			ok = restore(r.ULEB())
		case cfaUndefined:
			set(r.ULEB(), rule{kind: undefined})
		case cfaSame:
			set(r.ULEB(), rule{})
		case cfaRegister:
			set(r.ULEB(), rule{kind: other})
			r.ULEB()
		case cfaRemember:
			if ok = len(m.stack) < maxRemembered; ok {
				m.stack = append(m.stack, *s)
			}
		case cfaRestoreState:
			if ok = len(m.stack) > 0; ok {
				*s = m.stack[len(m.stack)-1]
				m.stack = m.stack[:len(m.stack)-1]
			}
		case cfaDef:
			s.cfa = rule{kind: register, reg: r.ULEB(), offset: int64(r.ULEB())}
		case cfaDefSF:
			s.cfa = rule{kind: register, reg: r.ULEB(), offset: r.SLEB() * c.dataAlign}
		case cfaDefReg:
			ok = s.cfa.kind == register
			s.cfa.reg = r.ULEB()
		case cfaDefOffset:
			ok = s.cfa.kind == register
			s.cfa.offset = int64(r.ULEB())
		case cfaDefOffsetSF:
			ok = s.cfa.kind == register
			s.cfa.offset = r.SLEB() * c.dataAlign
		case cfaDefExpr:
			s.cfa = rule{kind: other, expr: r.Bytes(r.ULEB())}
		case cfaExpr:
			set(r.ULEB(), rule{kind: other, expr: r.Bytes(r.ULEB())})
		case cfaValOffset, cfaValOffsetSF:
			set(r.ULEB(), rule{kind: other})
			r.ULEB()
		case cfaValExpr:
			set(r.ULEB(), rule{kind: other})
			r.Bytes(r.ULEB())
		case cfaArgsSize:
			r.ULEB()
		default:
			ok = false
		}
	}
	ok = ok && !r.Bad
	if ok && init != nil {
		ok = emit(end)
	}
	if !ok {
		out = out[:from]
	}
	return out, ok
}

// Expressions that compilers and linkers write, as bytes.
const (
	opDeref = 0x06
	opBreg0 = 0x70
)

// pltExpr is the CFA in the stubs of a procedure linkage table: rsp + 8 +
// ((rip & 15) >= 11) << 3. The number is where the push instruction ends, and 10
// in stubs that begin with endbr64.
var pltExpr = [][]byte{
	{0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22},
	{0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3a, 0x2a, 0x33, 0x24, 0x22},
}

// pack puts a state into the format of the tables.
func (s *section) pack(st *state) object.Rule {
	const word = 8
	if st.ra.kind == undefined {
		return object.NewRule(object.RuleEnd, 0, 0)
	}
	if s.regs.link {
		return s.packLink(st)
	}
	if st.ra.kind != atCFA || st.ra.offset != -word {
		return object.RuleFail
	}
	fp := 0
	// the function aligned its stack
	aligned := st.fp.kind == other && bytes.Equal(st.fp.expr, []byte{opBreg0 + byte(s.regs.fp), 0})
	switch {
	case st.fp.kind == same || st.fp.kind == undefined:
	case st.fp.kind == atCFA && st.fp.offset < 0 && st.fp.offset%word == 0:
		fp = int(min(-st.fp.offset/word, object.RuleMost+1))
	case aligned && st.cfa.kind == other:
		// The frame pointer points to where it was saved, and the CFA is in memory
		// below.
		if off, ok := s.derefFP(st.cfa.expr); ok {
			return object.NewRule(object.RuleSaved, off, 0)
		}
		return object.RuleFail
	case aligned && st.cfa.kind == register && st.cfa.reg == s.regs.sp:
		// Near its end, where the frame pointer has been restored.
	default:
		return object.RuleFail
	}
	switch st.cfa.kind {
	case register:
		if st.cfa.offset < 0 || st.cfa.offset%word != 0 {
			return object.RuleFail
		}
		off := int(min(st.cfa.offset/word, object.RuleMost+1))
		switch st.cfa.reg {
		case s.regs.sp:
			return object.NewRule(object.RuleSP, off, fp)
		case s.regs.fp:
			return object.NewRule(object.RuleFP, off, fp)
		}
	case other:
		for i, e := range pltExpr {
			if fp == 0 && bytes.Equal(st.cfa.expr, e) {
				return object.NewRule(object.RulePLT, 11-i, 0)
			}
		}
	}
	return object.RuleFail
}

// packLink is pack for machines on which calls put the return address in a
// register.
func (s *section) packLink(st *state) object.Rule {
	const word = 8
	// place is how many words below the CFA something was saved, 0 if it was not.
	place := func(r rule) (words int, ok bool) {
		switch {
		case r.kind == same || r.kind == undefined:
			return 0, true
		case r.kind == atCFA && r.offset < 0 && r.offset%word == 0:
			return int(min(-r.offset/word, object.RuleMost+1)), true
		}
		return 0, false
	}
	fp, ok1 := place(st.fp)
	ra, ok2 := place(st.ra)
	if !ok1 || !ok2 || st.cfa.kind != register || st.cfa.offset < 0 || st.cfa.offset%word != 0 {
		return object.RuleFail
	}
	kind, linkKind := object.RuleSP, object.RuleSPLink
	switch st.cfa.reg {
	case s.regs.sp:
	case s.regs.fp:
		kind, linkKind = object.RuleFP, object.RuleFPLink
	default:
		return object.RuleFail
	}
	off := int(min(st.cfa.offset/word, object.RuleMost+1))
	switch {
	case fp == 0 && ra == 0, fp > 0 && ra == fp-1:
		return object.NewRule(kind, off, fp)
	case fp == 0:
		return object.NewRule(linkKind, off, ra)
	}
	return object.RuleFail
}

// derefFP recognises an expression that reads memory below the frame pointer;
// the distance is in words.
func (s *section) derefFP(expr []byte) (words int, ok bool) {
	r := newReader(expr, 0)
	if r.Byte() != opBreg0+byte(s.regs.fp) {
		return 0, false
	}
	off := r.SLEB()
	if r.Byte() != opDeref || r.More() || r.Bad || off > 0 || off%8 != 0 {
		return 0, false
	}
	return int(min(-off/8, object.RuleMost+1)), true
}
