package ir

import (
	"io"
	"strconv"
	"strings"
)

// String is the program as text, the form that Parse reads.
func (p *Prog) String() string {
	var sb strings.Builder
	p.Fprint(&sb, false)
	return sb.String()
}

// Fprint writes the program as text, one value a line. With spans, a line
// ends with a comment "; line:column" where the value came from a script.
func (p *Prog) Fprint(w io.Writer, spans bool) error {
	pr := printer{spans: spans}
	pr.put("prog ", strconv.Quote(p.Name))
	if p.State > 0 {
		pr.put(" state ")
		pr.num(p.State)
	}
	pr.put("\n")
	for _, f := range p.Funcs {
		pr.put("\n")
		pr.fn(f)
	}
	_, err := w.Write(pr.buf)
	return err
}

// String is the value as its line in the program text.
func (v *Value) String() string {
	pr := printer{}
	pr.value(v)
	return string(pr.buf)
}

// String is the block's name in the program text.
func (b *Block) String() string { return "b" + strconv.Itoa(b.ID) }

// A printer collects the text.
type printer struct {
	buf   []byte
	spans bool
}

func (p *printer) put(ss ...string) {
	for _, s := range ss {
		p.buf = append(p.buf, s...)
	}
}

func (p *printer) num(n int) { p.buf = strconv.AppendInt(p.buf, int64(n), 10) }

// fn writes a function.
func (p *printer) fn(f *Func) {
	switch {
	case f.Static:
		p.put("static ")
	case f.Piece:
		p.put("piece ")
	}
	p.put("func ", strconv.Quote(f.Name), " params ")
	p.num(f.NParams)
	if f.SlotAt > 0 {
		p.put(" slot ")
		p.num(f.SlotAt)
	}
	p.put(" {\n")
	for _, o := range f.Objects {
		p.put("\tobject o")
		p.num(o.ID)
		p.put(" ", strconv.Quote(o.Name), " size ")
		p.num(o.Size)
		p.put(" align ")
		p.num(o.Align)
		if o.Stack {
			p.put(" stack")
		}
		if o.Far {
			p.put(" far")
		}
		if o.Offset != 0 {
			p.put(" at ")
			p.num(o.Offset)
		}
		p.put("\n")
	}
	for _, b := range f.Blocks {
		p.put(b.String(), ":")
		if b.Cold {
			p.put(" cold")
		}
		if f.Body == b {
			p.put(" body")
		}
		if len(b.Preds) > 0 {
			p.put(" ; preds")
			for _, q := range b.Preds {
				p.put(" ", q.String())
			}
		}
		p.put("\n")
		for _, v := range b.Values {
			p.put("\t")
			p.value(v)
			if p.spans && v.At.Valid() {
				line, col := v.At.File.Position(v.At.Start)
				p.put(" ; ")
				p.num(line)
				p.put(":")
				p.num(col)
			}
			p.put("\n")
		}
		p.put("\t")
		p.end(b)
		p.put("\n")
	}
	p.put("}\n")
}

// end writes how a block ends.
func (p *printer) end(b *Block) {
	switch b.Kind {
	case Jump:
		p.put("jump")
	case If:
		p.put("if ")
		p.ref(b.Ctl)
		p.put(",")
	case Ret:
		p.put("ret")
		if b.Ctl != nil {
			p.put(" ")
			p.ref(b.Ctl)
		}
	case MayGoto:
		p.put("maygoto")
	}
	for i, s := range b.Succs {
		if i > 0 {
			p.put(",")
		}
		p.put(" ", s.String())
	}
}

// ref writes the name of a value.
func (p *printer) ref(v *Value) {
	if v == nil {
		p.put("v?")
		return
	}
	p.put("v")
	p.num(v.ID)
}

// refs writes names with commas between them.
func (p *printer) refs(vs []*Value) {
	for i, v := range vs {
		if i > 0 {
			p.put(", ")
		}
		p.ref(v)
	}
}

// addr prints an address operand: v3, v3+16, v3-8.
func (p *printer) addr(v *Value, off int64) {
	p.ref(v)
	p.offset(off)
}

// offset writes an offset with its sign, which stands for the operator.
func (p *printer) offset(off int64) {
	if off >= 0 {
		p.put("+")
	}
	p.buf = strconv.AppendInt(p.buf, off, 10)
}

// value writes one value: its name if it yields something, the operation with its width, the
// operands.
func (p *printer) value(v *Value) {
	if v.Kind != Nothing {
		p.ref(v)
		p.put(" = ")
	}
	p.put(v.Op.String())
	bits := int(v.Size) * 8
	switch v.Op {
	case Load, Ext:
		switch {
		case v.Kind == Ptr:
			p.put(".ptr")
		case v.Sign:
			p.put(".s")
			p.num(bits)
		default:
			p.put(".u")
			p.num(bits)
		}
	case Bswap, Store, AtomicAdd, AtomicXchg, AtomicCmpXchg, AtomicFetchAdd:
		p.put(".")
		p.num(bits)
	default:
		if v.Kind == Ptr && ops[v.Op].kind != Ptr {
			p.put(".ptr")
		}
	}
	p.put(" ")
	switch v.Op {
	case Const, Param, DataPtr, MapPtr, Reloc, State:
		p.buf = strconv.AppendInt(p.buf, v.Imm, 10)
	case Addr:
		p.put("o")
		p.num(v.Obj.ID)
		p.offset(v.Imm)
	case FuncPtr:
		p.put(strconv.Quote(v.Fn.Name))
	case Load, Store, AtomicAdd, AtomicXchg, AtomicCmpXchg, AtomicFetchAdd, Zero, Copy:
		p.addr(v.Args[0], v.Imm)
		for _, a := range v.Args[1:] {
			p.put(", ")
			p.ref(a)
		}
		if v.Op == Zero || v.Op == Copy {
			p.put(", ")
			p.num(v.Len)
		}
	case CallPiece:
		p.put(strconv.Quote(v.Fn.Name), "(")
		p.refs(v.Args)
		p.put(")")
	case Call, CallKfunc:
		if v.Sym != "" {
			p.put(strconv.Quote(v.Sym), " ")
		}
		p.buf = strconv.AppendInt(p.buf, v.Imm, 10)
		p.put("(")
		p.refs(v.Args)
		p.put(")")
	default:
		p.refs(v.Args)
	}
}
