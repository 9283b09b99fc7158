package codegen

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cilium/ebpf/asm"
)

// name is the register as the verifier writes it: the library calls r10 rfp.
func name(r asm.Register) string { return "r" + strconv.Itoa(int(r)) }

// Dump writes the instructions in the manner of the kernel's verifier log,
// each with its slot number, under the script lines they come from.
func (c *Code) Dump(w io.Writer) error {
	out := bufio.NewWriter(w)
	slot, line, fn := 0, 0, 0
	lastLine := ""
	for i := range c.Insns {
		in := &c.Insns[i]
		if fn < len(c.Funcs) && c.Funcs[fn].Slot == slot {
			fmt.Fprintf(out, "%s:\n", c.Funcs[fn].Name)
			fn++
			lastLine = ""
		}
		for line < len(c.Lines) && c.Lines[line].Slot <= slot {
			at := c.Lines[line].At
			n, _ := at.File.Position(at.Start)
			text := fmt.Sprintf("; %s:%d: %s", at.File.Name, n, strings.TrimSpace(at.File.Line(n)))
			// Statements of one line follow each other: it is shown once.
			if text != lastLine && c.Lines[line].Slot == slot {
				fmt.Fprintln(out, text)
				lastLine = text
			}
			line++
		}
		fmt.Fprintf(out, "%4d: %s\n", slot, c.text(in, slot))
		slot += int(in.Width())
	}
	return out.Flush()
}

var aluSigns = map[asm.ALUOp]string{
	asm.Add: "+=", asm.Sub: "-=", asm.Mul: "*=", asm.Div: "/=", asm.SDiv: "s/=", asm.Or: "|=", asm.And: "&=",
	asm.LSh: "<<=", asm.RSh: ">>=", asm.Mod: "%=", asm.SMod: "s%=", asm.Xor: "^=", asm.Mov: "=", asm.ArSh: "s>>=",
}

var jumpSigns = map[asm.JumpOp]string{
	asm.JEq: "==", asm.JNE: "!=", asm.JGT: ">", asm.JGE: ">=", asm.JLT: "<", asm.JLE: "<=",
	asm.JSGT: "s>", asm.JSGE: "s>=", asm.JSLT: "s<", asm.JSLE: "s<=", asm.JSet: "&",
}

var typeNames = map[asm.Size]string{asm.Byte: "u8", asm.Half: "u16", asm.Word: "u32", asm.DWord: "u64"}

// text is one instruction, at a slot.
func (c *Code) text(in *asm.Instruction, slot int) string {
	op := in.OpCode
	src := func() string {
		if op.Source() == asm.ImmSource {
			return fmt.Sprint(in.Constant)
		}
		return name(in.Src)
	}
	mem := func(base asm.Register, typ string) string {
		return fmt.Sprintf("*(%s *)(%s %+d)", typ, name(base), in.Offset)
	}
	switch class := op.Class(); {
	case op == loadImm:
		return c.loadText(in, slot)
	case class == asm.LdXClass:
		typ := typeNames[op.Size()]
		if op.Mode() == asm.MemSXMode {
			typ = "s" + typ[1:]
		}
		return fmt.Sprintf("%s = %s", name(in.Dst), mem(in.Src, typ))
	case class == asm.StClass:
		return fmt.Sprintf("%s = %d", mem(in.Dst, typeNames[op.Size()]), in.Constant)
	case class == asm.StXClass && op.Mode() == asm.AtomicMode:
		at := mem(in.Dst, typeNames[op.Size()])
		switch op.AtomicOp() {
		case asm.AddAtomic:
			return fmt.Sprintf("lock %s += %s", at, name(in.Src))
		case asm.FetchAdd:
			return fmt.Sprintf("%s = atomic_fetch_add(%s, %s)", name(in.Src), at, name(in.Src))
		case asm.Xchg:
			return fmt.Sprintf("%s = atomic_xchg(%s, %s)", name(in.Src), at, name(in.Src))
		}
		return fmt.Sprintf("r0 = atomic_cmpxchg(%s, r0, %s)", at, name(in.Src))
	case class == asm.StXClass:
		return fmt.Sprintf("%s = %s", mem(in.Dst, typeNames[op.Size()]), name(in.Src))
	case class.IsALU():
		return aluText(in, src)
	}
	target := slot + 1 + int(in.Offset)
	switch op.JumpOp() {
	case asm.Call:
		switch in.Src {
		case asm.PseudoKfuncCall:
			return fmt.Sprintf("call kernel-function#%d", in.Constant)
		case asm.PseudoCall:
			return "call " + c.funcAt(slot+1+int(in.Constant))
		}
		return fmt.Sprintf("call %s#%d", strings.TrimPrefix(asm.BuiltinFunc(in.Constant).String(), "Fn"), in.Constant)
	case asm.Exit:
		return "exit"
	case asm.Ja:
		if op.Class() == asm.Jump32Class {
			target = slot + 1 + int(in.Constant)
		}
		return fmt.Sprintf("goto %d", target)
	case asm.JCOND:
		return fmt.Sprintf("may_goto %d", target)
	}
	return fmt.Sprintf("if %s %s %s goto %d", name(in.Dst), jumpSigns[op.JumpOp()], src(), target)
}

// loadText is a load of 64 bits, whose source register says what the constant stands for.
func (c *Code) loadText(in *asm.Instruction, slot int) string {
	switch in.Src {
	case asm.PseudoMapFD:
		return fmt.Sprintf("%s = map[%d]", name(in.Dst), in.Constant)
	case asm.PseudoMapValue:
		return fmt.Sprintf("%s = data[%d]", name(in.Dst), in.Constant>>32)
	case asm.PseudoFunc:
		return fmt.Sprintf("%s = func %s", name(in.Dst), c.funcAt(slot+1+int(int32(in.Constant))))
	}
	return fmt.Sprintf("%s = %#x ll", name(in.Dst), uint64(in.Constant))
}

// funcAt is the name of the function that begins at a slot, or the slot.
func (c *Code) funcAt(slot int) string {
	for _, f := range c.Funcs {
		if f.Slot == slot {
			return f.Name
		}
	}
	return strconv.Itoa(slot)
}

// aluText is an arithmetic instruction; w0 is the lower half of r0, as the verifier has it.
func aluText(in *asm.Instruction, src func() string) string {
	op := in.OpCode
	dst := name(in.Dst)
	if op.Class() == asm.ALUClass {
		dst = "w" + dst[1:]
	}
	switch op.ALUOp() {
	case asm.Neg:
		return fmt.Sprintf("%s = -%s", dst, dst)
	case asm.Swap:
		order := "be"
		if op.Endianness() == asm.LE {
			order = "le"
		}
		return fmt.Sprintf("%s = %s%d %s", name(in.Dst), order, in.Constant, name(in.Dst))
	case asm.MovSX8, asm.MovSX16, asm.MovSX32:
		bits := map[asm.ALUOp]int{asm.MovSX8: 8, asm.MovSX16: 16, asm.MovSX32: 32}[op.ALUOp()]
		return fmt.Sprintf("%s = (s%d)%s", dst, bits, name(in.Src))
	}
	operand := src()
	if op.Class() == asm.ALUClass && op.Source() == asm.RegSource {
		operand = "w" + operand[1:]
	}
	return fmt.Sprintf("%s %s %s", dst, aluSigns[op.ALUOp()], operand)
}
