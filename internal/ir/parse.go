package ir

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Parse reads the form that Prog.String writes. Comments run from ';' to the
// end of the line; one that begins with "preds" after a block's name gives
// the order of its predecessors and so of phi arguments (otherwise it is the
// order in which blocks name it). Parse checks form only: Verify does the rest.
func Parse(text string) (*Prog, error) {
	p := &parser{prog: &Prog{}, funcs: map[string]*Func{}, callees: map[*Value]string{}}
	for i, line := range strings.Split(text, "\n") {
		if err := p.line(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	if p.fn != nil {
		return nil, errors.New("missing }")
	}
	// Functions may refer to those below them.
	for v, name := range p.callees {
		if v.Fn = p.funcs[name]; v.Fn == nil {
			return nil, fmt.Errorf("no function %q", name)
		}
	}
	return p.prog, nil
}

// A parser reads the text form line by line. Blocks and values may be named before they are
// defined; that all are is checked at the end of the function.
type parser struct {
	prog    *Prog
	funcs   map[string]*Func
	callees map[*Value]string

	fn      *Func
	block   *Block
	blocks  map[int]*Block
	begun   map[*Block]bool
	ended   map[*Block]bool
	values  map[int]*Value
	defined map[*Value]bool
	objects map[int]*Object
	preds   map[*Block][]*Block // from comments

	rest string // of the line
	err  error
}

// line reads one line. The first error in it counts.
func (p *parser) line(line string) error {
	p.rest, p.err = line, nil
	p.rest = strings.TrimSpace(p.rest)
	switch {
	case p.rest == "" || p.rest[0] == ';':
	case p.fn == nil:
		p.top()
	case p.accept("}"):
		p.endFunc()
	default:
		p.inFunc()
	}
	p.rest = strings.TrimSpace(p.rest)
	if p.err == nil && p.rest != "" && p.rest[0] != ';' {
		p.fail("unexpected %q", p.rest)
	}
	return p.err
}

// top reads a line outside of functions: a program or the head of a function.
func (p *parser) top() {
	w := p.word()
	static, piece := w == "static", w == "piece"
	if static || piece {
		w = p.word()
	}
	switch w {
	case "prog":
		p.prog.Name = p.quoted()
		if p.word() == "state" {
			p.prog.State = p.small(1 << 24)
		}
	case "func":
		f := &Func{Name: p.quoted(), Static: static, Piece: piece}
		if p.word() != "params" {
			p.fail("want params")
		}
		f.NParams = p.small(5)
		if p.word() == "slot" {
			f.SlotAt = p.small(512)
		}
		p.want("{")
		if p.funcs[f.Name] != nil {
			p.fail("function %q twice", f.Name)
		}
		p.funcs[f.Name] = f
		p.prog.Funcs = append(p.prog.Funcs, f)
		p.fn, p.block = f, nil
		p.blocks, p.begun, p.ended = map[int]*Block{}, map[*Block]bool{}, map[*Block]bool{}
		p.values, p.defined = map[int]*Value{}, map[*Value]bool{}
		p.objects, p.preds = map[int]*Object{}, map[*Block][]*Block{}
	default:
		p.fail("want prog or func, have %q", w)
	}
}

// inFunc reads a line of a function: an object, the name of a block, a value or the end of a block.
func (p *parser) inFunc() {
	save := p.rest
	w := p.word()
	if w == "object" {
		p.object()
		return
	}
	if strings.HasPrefix(p.rest, ":") {
		p.rest = save
		p.label()
		return
	}
	if p.block == nil {
		p.fail("value outside of a block")
		return
	}
	if p.ended[p.block] {
		p.fail("value after the end of %s", p.block)
		return
	}
	switch w {
	case "jump":
		p.end(Jump, 1)
	case "if":
		c := p.valueRef()
		p.want(",")
		p.end(If, 2)
		p.block.Ctl = c
	case "maygoto":
		p.end(MayGoto, 2)
	case "ret":
		p.end(Ret, 0)
		p.rest = strings.TrimSpace(p.rest)
		if p.rest != "" && p.rest[0] != ';' {
			p.block.Ctl = p.valueRef()
		}
	default:
		p.rest = save
		p.value()
	}
}

// object reads an object, whose properties come in any order.
func (p *parser) object() {
	o := &Object{ID: p.id("o"), Name: p.quoted()}
	for {
		switch w := p.word(); w {
		case "size":
			o.Size = p.small(1 << 24)
			continue
		case "align":
			o.Align = p.small(8)
			continue
		case "at":
			o.Offset = p.small(512)
			continue
		case "stack":
			o.Stack = true
			continue
		case "far":
			o.Far = true
			continue
		case "":
		default:
			p.fail("unexpected %q", w)
		}
		break
	}
	if p.objects[o.ID] != nil {
		p.fail("object o%d twice", o.ID)
	}
	p.objects[o.ID] = o
	p.fn.Objects = append(p.fn.Objects, o)
	p.fn.nextObject = max(p.fn.nextObject, o.ID+1)
}

// label begins a block.
func (p *parser) label() {
	b := p.blockRef()
	p.want(":")
	if p.begun[b] {
		p.fail("%s twice", b)
		return
	}
	if p.block != nil && !p.ended[p.block] {
		p.fail("%s does not end", p.block)
		return
	}
	p.begun[b] = true
	p.block = b
	p.fn.Blocks = append(p.fn.Blocks, b)
	for {
		switch w := p.word(); w {
		case "cold":
			b.Cold = true
			continue
		case "body":
			p.fn.Body = b
			continue
		case "":
		default:
			p.fail("unexpected %q", w)
		}
		break
	}
	if p.accept(";") && p.word() == "preds" {
		for strings.TrimSpace(p.rest) != "" && p.err == nil {
			p.preds[b] = append(p.preds[b], p.blockRef())
		}
	} else {
		p.rest = ""
	}
}

func (p *parser) end(kind BlockKind, nsuccs int) {
	b := p.block
	b.Kind = kind
	for i := range nsuccs {
		if i > 0 {
			p.want(",")
		}
		s := p.blockRef()
		b.Succs = append(b.Succs, s)
		s.Preds = append(s.Preds, b)
	}
	p.ended[b] = true
}

// endFunc checks that all that was named is there, and takes the order of predecessors from the
// comments.
func (p *parser) endFunc() {
	f := p.fn
	if len(f.Blocks) == 0 {
		p.fail("function %q without blocks", f.Name)
		return
	}
	if !p.ended[p.block] {
		p.fail("%s does not end", p.block)
	}
	for _, b := range p.blocks {
		if !p.begun[b] {
			p.fail("no block %s", b)
		}
	}
	for _, v := range p.values {
		if !p.defined[v] {
			p.fail("no value v%d", v.ID)
		}
	}
	for b, order := range p.preds {
		if !samePreds(order, b.Preds) {
			p.fail("%s: the comment names other predecessors than the blocks do", b)
			return
		}
		b.Preds = order
	}
	// Values of kind Nothing have no name in the text; number them last.
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			if v.ID < 0 {
				v.ID = f.nextValue
				f.nextValue++
			}
		}
	}
	p.fn = nil
}

func samePreds(a, b []*Block) bool {
	if len(a) != len(b) {
		return false
	}
	n := map[*Block]int{}
	for i := range a {
		n[a[i]]++
		n[b[i]]--
	}
	for _, d := range n {
		if d != 0 {
			return false
		}
	}
	return true
}

// value reads a value: the name it is given, the operation, the operands.
func (p *parser) value() {
	save := p.rest
	v := &Value{ID: -1}
	if w := p.word(); len(w) > 1 && w[0] == 'v' && p.accept("=") {
		p.rest = save
		v = p.valueRef()
		p.want("=")
		if p.defined[v] {
			p.fail("v%d twice", v.ID)
			return
		}
		p.defined[v] = true
	} else {
		p.rest = save
	}
	name, suffix, _ := strings.Cut(p.word(), ".")
	for op := BadOp + 1; op < numOps; op++ {
		if ops[op].name == name {
			v.Op = op
		}
	}
	if v.Op == BadOp {
		p.fail("no operation %q", name)
		return
	}
	if v.ID >= 0 {
		v.Kind = ops[v.Op].kind
	}
	p.suffix(v, suffix)
	p.operands(v)
	if p.err != nil {
		return
	}
	v.Block = p.block
	p.block.Values = append(p.block.Values, v)
}

// suffix reads what stands behind the operation: a width, with u or s where the sign matters, or
// ptr.
func (p *parser) suffix(v *Value, s string) {
	if s == "ptr" {
		v.Kind = Ptr
		if v.Op == Load {
			v.Size = 8
		}
		return
	}
	switch v.Op {
	case Load, Ext:
		if v.Sign = strings.HasPrefix(s, "s"); !v.Sign && !strings.HasPrefix(s, "u") {
			p.fail("want .u or .s and a width")
			return
		}
		s = s[1:]
	case Bswap, Store, AtomicAdd, AtomicXchg, AtomicCmpXchg, AtomicFetchAdd:
	default:
		if s != "" {
			p.fail("unexpected .%s", s)
		}
		return
	}
	switch s {
	case "8", "16", "32", "64":
		n, _ := strconv.Atoi(s)
		v.Size = uint8(n / 8)
	default:
		p.fail("bad width %q", s)
	}
}

// operands reads what an operation has, in the order in which it is printed.
func (p *parser) operands(v *Value) {
	switch v.Op {
	case Const, Param, DataPtr, MapPtr, Reloc, State:
		v.Imm = p.int()
	case Addr:
		id := p.id("o")
		if v.Obj = p.objects[id]; v.Obj == nil {
			p.fail("no object o%d", id)
		}
		v.Imm = p.offset()
	case FuncPtr:
		p.callees[v] = p.quoted()
	case CallPiece:
		p.callees[v] = p.quoted()
		p.arguments(v)
	case Load, Store, AtomicAdd, AtomicXchg, AtomicCmpXchg, AtomicFetchAdd, Zero, Copy:
		v.Args = append(v.Args, p.valueRef())
		v.Imm = p.offset()
		n := ops[v.Op].args
		for len(v.Args) < n && p.err == nil {
			p.want(",")
			v.Args = append(v.Args, p.valueRef())
		}
		if v.Op == Zero || v.Op == Copy {
			p.want(",")
			v.Len = p.small(1 << 24)
		}
	case Call, CallKfunc:
		p.rest = strings.TrimLeft(p.rest, " ")
		if strings.HasPrefix(p.rest, `"`) {
			v.Sym = p.quoted()
		}
		v.Imm = p.int()
		p.arguments(v)
	default:
		for p.err == nil {
			p.rest = strings.TrimSpace(p.rest)
			if p.rest == "" || p.rest[0] == ';' {
				break
			}
			if len(v.Args) > 0 {
				p.want(",")
			}
			v.Args = append(v.Args, p.valueRef())
		}
	}
}

// arguments parses those of a call, in parentheses.
func (p *parser) arguments(v *Value) {
	p.want("(")
	for !p.accept(")") && p.err == nil {
		if len(v.Args) > 0 {
			p.want(",")
		}
		v.Args = append(v.Args, p.valueRef())
	}
}
