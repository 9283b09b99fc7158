package show

import (
	"fmt"
	"strings"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/types"
)

// Text that the kernel formats itself, to its trace pipe or to the file of a
// pinned iterator.

// A kernelFormat is what a helper of the kernel understands of formats.
type kernelFormat struct {
	letters string // conversions
	most    int    // arguments
	flags   string // between % and the conversion
}

var (
	// bpf_trace_printk() takes three arguments, as helpers have five registers; bpf_seq_printf() an
	// array of up to twelve (MAX_BPRINTF_VARARGS of include/linux/bpf.h).
	tracePrintk = kernelFormat{"duxps", 3, ""}
	seqPrintf   = kernelFormat{"diuxXps", 12, "0 +-123456789"}
)

// words lists the conversions for messages.
// The order is that of the table.
func (k kernelFormat) words() string {
	var out []string
	for _, c := range k.letters {
		out = append(out, "%"+string(c))
	}
	return strings.Join(out, ", ")
}

// check reports what the kernel could not format of a call whose format is
// correct as such.
// The kernel would refuse the program, or print nothing, without saying which conversion is at
// fault.
func (k kernelFormat) check(c *builtin.Call, subject string) {
	text, _ := c.Str(0)
	if len(c.Args)-1 > k.most {
		c.Errorf(c.Args[1+k.most], "argument-count", "%s takes at most %d arguments behind the format", subject, k.most)
		return
	}
	// A percent sign that is left begins a conversion, to the kernel at least.
	rest := strings.ReplaceAll(text, "%%", "")
	for i := 0; ; i++ {
		_, after, ok := strings.Cut(rest, "%")
		if !ok {
			return
		}
		after = strings.TrimLeft(strings.TrimLeft(after, k.flags), "lh")
		if after == "" || !strings.Contains(k.letters, after[:1]) {
			c.Errorf(c.Args[0], "bad-format", "%s knows only %s", subject, k.words())
			return
		}
		if _, isText := c.Types[1+i].(*types.String); isText != (after[0] == 's') {
			c.Errorf(c.Args[1+i], "format-type", "%s: %%%c does not go with a value of type %s", subject,
				after[0], c.Types[1+i])
		}
		rest = after[1:]
	}
}

var _ = builtin.Define(builtin.Func{
	Name: "debugf", Min: 1, Params: formatParams, Variadic: true,
	Doc: "Prints to the kernel's trace pipe, for debugging: at most three of `%d %u %x %p %s`, formatted by " +
		"the kernel.",
	Example: `begin { debugf("here %d", pid); }`,
	Yields:  "",
	Check: func(c *builtin.Call) types.Type {
		if formatOf(c) != nil {
			c.Warnf(c.Expr, "debugging", "debugf() prints to the kernel's trace pipe and is meant for debugging only")
			tracePrintk.check(c, "debugf()")
		}
		return types.Void
	},
	Lower: func(g builtin.Gen, c *builtin.Call, _ *ir.Value) *ir.Value {
		text, _ := c.Str(0)
		n := len(text) + 1
		format := g.Temp("format", types.RoundUp(n, 8), 8)
		builtin.StoreString(g, format, text, n)
		args := []*ir.Value{format, builtin.Number(g, int64(n))}
		for i, a := range c.Args[1:] {
			if types.IsScalar(c.Types[1+i]) {
				args = append(args, g.Scalar(a))
			} else {
				args = append(args, g.Mem(a))
			}
		}
		builtin.Helper(g, asm.FnTracePrintk, args...)
		return nil
	},
})

// checkPrintf is checkFormat, with what the kernel can format where the text
// goes to the reader of a pinned iterator.
// All points of a probe are pinned or none is: an iterator is alone in its script.
func checkPrintf(c *builtin.Call) types.Type {
	format := formatOf(c)
	c.Found.Format = format
	if format != nil && len(c.Points) > 0 && c.Points[0].Pin != "" {
		seqPrintf.check(c, fmt.Sprintf("%s() of a pinned probe", c.Func.Name))
	}
	return types.Void
}

// lowerPrintf is lowerFormat, or for a pinned iterator, whose text the reader of its file gets, a
// call of the kernel's own formatting.
// A pinned iterator runs whenever somebody reads its file, hawk long gone: there is no user
// space to send events to.
func lowerPrintf(g builtin.Gen, c *builtin.Call, dst *ir.Value) *ir.Value {
	reader := g.Context().Group.Mech().Reader
	if reader == nil {
		return lowerFormat(g, c, dst)
	}
	b := g.B()
	text, _ := c.Str(0)
	n := len(text) + 1
	// Shared data holds the text, which may be longer than the stack.
	format := b.Data(g.Table(append([]byte(text), 0)))
	size := 8 * (len(c.Args) - 1)
	data := builtin.Number(g, 0)
	if size > 0 {
		data = g.Temp("arguments", size, 8)
	}
	for i, a := range c.Args[1:] {
		if types.IsScalar(c.Types[1+i]) {
			b.Store(data, 8*i, 8, g.Scalar(a))
			continue
		}
		// The kernel takes the address of a text as a number, which only a
		// helper can make of a pointer.
		slot := g.Temp("pointer", 8, 8)
		b.Store(slot, 0, 8, g.Mem(a))
		builtin.Helper(g, asm.FnProbeReadKernel, b.Add(data, int64(8*i)), builtin.Number(g, 8), slot)
	}
	builtin.Helper(g, asm.FnSeqPrintf, reader(g.Context()), format, builtin.Number(g, int64(n)), data,
		builtin.Number(g, int64(size)))
	return nil
}
