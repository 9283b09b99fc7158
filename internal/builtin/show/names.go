package show

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/cdef"
	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/spell"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

// setsDoc is what flags and enumname say of the sets that they take.
const setsDoc = " The set is a literal: an enum of the kernel's (`\"enum skb_drop_reason\"`), the names that the " +
	"format of a tracepoint has for a field (`\"t:skb:kfree_skb:reason\"`; of a field with several tables the second " +
	"is `\"t:kvm:kvm_exit:exit_reason:2\"`), or C constants by what their names begin " +
	"with, and the header that they are from (`\"O_ fcntl.h\"`). It is looked up where the script is compiled."

// flagsBy is the renderer of flags().
const flagsBy types.Renderer = 9

// Both take the same sets and differ in how a number is put into words.
func init() {
	named("flags", &types.Deferred{Name: "flags_t", By: flagsBy, Bytes: 8, Algn: 8, Open: true},
		"The names of the bits that are set in a number, joined by `|`: `O_WRONLY|O_CREAT`. Bits without a name "+
			"follow in hexadecimal; a number without any bit is the name of 0, or 0."+setsDoc,
		`tracepoint:syscalls:sys_enter_openat { print(flags(args.flags, "O_ fcntl.h")); }`, flagsText)
	named("enumname", &types.Deferred{Name: "enumname_t", By: 10, Bytes: 8, Algn: 8, Open: true},
		"The name of a number in a set, the number if it has none."+setsDoc,
		`tracepoint:skb:kfree_skb { @[enumname(args.reason, "t:skb:kfree_skb:reason")] = count(); }`,
		enumText)
}

var _ = builtin.Define(builtin.Func{
	Name: "enum_in", Min: 3, Result: types.Bool,
	Params: []builtin.Param{builtin.Integer.Named("value"), builtin.StringLit.Named("names"),
		builtin.StringLit.Named("set")},
	Doc: "Whether a number has one of some names in a set, which are given with commas in between; upper and lower " +
		"case are the same." + setsDoc,
	Example: `tracepoint:skb:kfree_skb / enum_in(args.reason, "NO_SOCKET,TCP_CSUM", "t:skb:kfree_skb:reason") / ` +
		`{ @ = count(); }`,
	Check: func(c *builtin.Call) types.Type {
		// Names are looked up where the script is compiled, so that a misspelt one is an error.
		names, ok := c.Str(1)
		text, also := c.Str(2)
		if !ok || !also {
			return types.Bool
		}
		set, err := nameSet(c, text)
		if err != nil {
			c.Errorf(c.Args[2], "bad-argument", "enum_in(): %v", err)
			return types.Bool
		}
		numbers, err := numbersOf(names, set)
		if err != nil {
			c.Errorf(c.Args[1], "bad-argument", "enum_in(): %v", err)
		}
		c.Found.Extra = numbers
		return types.Bool
	},
	Lower: func(g builtin.Gen, c *builtin.Call, _ *ir.Value) *ir.Value {
		b, v, found := g.B(), g.Scalar(c.Args[0]), builtin.Number(g, 0)
		// A field of a tracepoint may be four bytes without a sign, which alone decide then.
		narrow := c.Types[0].Size() <= 4
		if narrow {
			v = b.Ext(v, 4, false)
		}
		for _, n := range c.Found.Extra {
			if narrow {
				n = int64(uint32(n))
			}
			found = b.Arith(ir.Or, found, b.Eq(v, n))
		}
		return found
	},
})

// numbersOf are the numbers of names, which have commas in between, in a set.
// Numbers are compared in the program, so that a set may be as large as the kernel's, but names
// only a few.
func numbersOf(names string, set []types.EnumValue) (out []int64, err error) {
	for name := range strings.SplitSeq(names, ",") {
		name = strings.TrimSpace(name)
		i := slices.IndexFunc(set, func(e types.EnumValue) bool { return strings.EqualFold(e.Name, name) })
		if i >= 0 {
			out = append(out, set[i].Value)
			continue
		}
		var all []string
		for _, e := range set {
			all = append(all, e.Name)
		}
		near := ""
		if n := spell.Nearest(name, all); n != "" {
			near = "; did you mean " + n + "?"
		}
		return nil, fmt.Errorf("%q is not in the set%s", name, near)
	}
	return out, nil
}

// named defines a function that shows a number by the names of a set, which lie in the
// type of what it yields.
// The set is looked up on the machine that compiles: a program that runs elsewhere shows the
// names of that machine.
func named(name string, typ *types.Deferred, doc, example string,
	text func(v int64, set []types.EnumValue) string) {
	builtin.Define(builtin.Func{
		Name: name, LabelOf: builtin.FirstArg, Min: 2, Yields: typ.Name, Renders: typ, Doc: doc, Example: example,
		Params: []builtin.Param{builtin.Integer.Named("value"), builtin.StringLit.Named("set")},
		Check: func(c *builtin.Call) types.Type {
			text, ok := c.Str(1)
			if !ok {
				return nil
			}
			set, err := nameSet(c, text)
			if err != nil {
				c.Errorf(c.Args[1], "bad-argument", "%s(): %v", name, err)
			}
			return typ.With(packSet(set))
		},
		Lower: func(g builtin.Gen, c *builtin.Call, dst *ir.Value) *ir.Value {
			p := builtin.Place(g, c.Result, dst)
			v := g.Scalar(c.Args[0])
			// A negative number of 4 bytes would have its upper half set, which are no flags.
			if typ.By == flagsBy {
				v = g.B().Ext(v, min(c.Types[0].Size(), 8), false)
			}
			g.B().Store(p, 0, 8, v)
			return p
		},
		Render: func(_ builtin.Env, t *types.Deferred, raw []byte) value.Value {
			if len(raw) < 8 {
				return value.Null{}
			}
			return value.Text(text(int64(builtin.Uint64(raw)), unpackSet(t.Arg)))
		},
	})
}

// nameSet is the set that a script describes.
// The three forms tell themselves apart by colons and by the word enum; C constants are looked
// up in the table of package cdef.
func nameSet(c *builtin.Call, text string) ([]types.EnumValue, error) {
	parts := strings.Split(text, ":")
	if len(parts) >= 4 && len(parts) <= 5 && (parts[0] == "t" || parts[0] == "tracepoint") {
		table := 1
		if len(parts) == 5 {
			n, err := strconv.ParseUint(parts[4], 10, 8)
			if err != nil || n == 0 {
				return nil, fmt.Errorf("%s: %q is no number of a table", text, parts[4])
			}
			table = int(n)
		}
		return c.Machine.FieldNames(parts[1], parts[2], parts[3], table)
	}
	if name, ok := strings.CutPrefix(text, "enum "); ok {
		t, err := c.Machine.TypeByName("enum", strings.TrimSpace(name))
		if err != nil {
			return nil, fmt.Errorf("%s: %s", text, errno.Message(err))
		}
		if e, ok := t.(*types.Enum); ok {
			return e.Values, nil
		}
	}
	words := strings.Fields(text)
	if len(words) > 2 || len(words) == 0 || strings.ContainsAny(text, ":") {
		return nil, fmt.Errorf("%q is no set; sets are written as in \"enum skb_drop_reason\", "+
			"\"t:skb:kfree_skb:reason\" or \"O_ fcntl.h\"", text)
	}
	if len(words) == 2 && !cdef.IsHeader(words[1]) {
		return nil, fmt.Errorf("%q: the constants of header %s are not known", text, words[1])
	}
	set := cdef.Constants(words[0], strings.Join(words[1:], ""), c.Machine.Arch().Name)
	if len(set) == 0 {
		return nil, fmt.Errorf("%q: there are no constants of such names", text)
	}
	return set, nil
}

// packSet is a set as text, which types are compared by.
// The text is a part of the type, and so of objects that are compiled ahead of time.
func packSet(set []types.EnumValue) string {
	var b strings.Builder
	for _, v := range set {
		fmt.Fprintf(&b, "%s=%d,", v.Name, v.Value)
	}
	return b.String()
}

// unpackSet is the set of a text of packSet, in its order.
// Damaged rows are left out: the number is then shown without a name.
func unpackSet(text string) []types.EnumValue {
	var set []types.EnumValue
	for text != "" {
		var row string
		row, text, _ = strings.Cut(text, ",")
		name, number, _ := strings.Cut(row, "=")
		n, err := strconv.ParseInt(number, 10, 64)
		if err == nil {
			set = append(set, types.EnumValue{Name: name, Value: n})
		}
	}
	return set
}

// enumText is the name of v. Of four bytes without a sign, as a field of a tracepoint may
// be, they alone decide.
// The first name in the set is shown of two that a number has.
func enumText(v int64, set []types.EnumValue) string {
	for _, e := range set {
		if e.Value == v || v == int64(uint32(e.Value)) {
			return e.Name
		}
	}
	return strconv.FormatInt(v, 10)
}

// flagsText names the bits of v: a name of several bits that are all set goes before those
// that it is made of. NAME_ACCMODE are bits that are one number.
// O_SYNC is a bit more than O_DSYNC, and O_TMPFILE contains O_DIRECTORY: sorted by the number
// of their bits, the wider name is found first.
func flagsText(v int64, set []types.EnumValue) string {
	set = slices.Clone(set)
	order.Stably(set, func(a, b types.EnumValue) int {
		return bits.OnesCount64(uint64(b.Value)) - bits.OnesCount64(uint64(a.Value))
	})
	// zero is the name of 0, if the set has one, as O_RDONLY.
	rest, zero := uint64(v), "0"
	var taken []types.EnumValue
	take := func(e types.EnumValue) {
		rest &^= uint64(e.Value)
		taken = append(taken, e)
	}
	for _, e := range set {
		mask := uint64(e.Value)
		switch {
		case strings.HasSuffix(e.Name, "_ACCMODE"):
			i := slices.IndexFunc(set, func(m types.EnumValue) bool {
				return uint64(m.Value) == uint64(v)&mask && m.Name != e.Name
			})
			// The bits of a mask without a name stay in the rest.
			if i >= 0 {
				take(set[i])
			}
		case mask == 0 && zero == "0":
			zero = e.Name
		case mask != 0 && rest&mask == mask:
			take(e)
		}
	}
	order.Stably(taken, func(a, b types.EnumValue) int {
		return cmp.Compare(uint64(a.Value), uint64(b.Value))
	})
	var names []string
	for _, e := range taken {
		names = append(names, e.Name)
	}
	if rest != 0 {
		names = append(names, fmt.Sprintf("%#x", rest))
	}
	if len(names) == 0 {
		return zero
	}
	return strings.Join(names, "|")
}
