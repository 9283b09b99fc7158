package show

import (
	"bytes"
	"encoding/binary"
	"strconv"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

// An argv_t is {u32 bytes of text; u32 wordsCut or 0; text}: strings with their NULs.
// The layout is that of arrayWords and ownWords, which write it, and of words, which reads it.
const (
	wordsLength = 0
	wordsFlags  = 4
	wordsText   = 8

	wordsCut = 1 // there was more
)

// wordsType is {u32 length; u32 flags; text}; the greatest number of arguments is in the type.
var wordsType = &types.Deferred{Name: "argv_t", By: 11, Bytes: 16, Algn: 8, Open: true}

var _ = builtin.Define(builtin.Func{
	Name: "argv", Params: []builtin.Param{builtin.Address.Named("array"), builtin.IntLit.Named("most")},
	Yields: "argv_t", Renders: wordsType,
	Doc: "The arguments of a program: of the current one, or the strings of an array of pointers in user memory " +
		"that ends with a null pointer, as `execve` takes it; the array `0` is the current program again. At most " +
		"`most` arguments, or `max_args`, and `max_strlen` bytes " +
		"are kept; ` ...` says that there were more, `?` stands for one that is not in memory. As text the arguments " +
		"are joined by blanks, in JSON they are an array.",
	Example: `tracepoint:sched:sched_process_exec { row("PID:<7 ARGS", pid, argv()); }`,
	Check: func(c *builtin.Call) types.Type {
		if ownArgs(c) {
			builtin.KernelMembers(c, "task_struct", "mm")
			builtin.KernelMembers(c, "mm_struct", "arg_start", "arg_end")
		}
		// The number is part of the type, as Render has nothing else to go by.
		most := int64(c.Config.MaxArgs)
		if n, ok := c.Int(1); ok {
			if most = n; n < 1 || n > maxWords {
				c.Errorf(c.Args[1], "bad-argument", "argv() shows 1 to %d arguments (%d provided)", maxWords, n)
				most = 1
			}
		}
		t := wordsType.With(strconv.FormatInt(most, 10))
		t.Bytes = wordsText + types.RoundUp(c.Config.MaxStrlen, 8)
		return t
	},
	Lower: func(g builtin.Gen, c *builtin.Call, dst *ir.Value) *ir.Value {
		p := builtin.Place(g, c.Result, dst)
		g.B().Zero(p, 0, c.Result.Size())
		if ownArgs(c) {
			ownWords(g, c, p)
		} else {
			arrayWords(g, c, p)
		}
		return p
	},
	Render: func(_ builtin.Env, t *types.Deferred, raw []byte) value.Value {
		most, _ := strconv.Atoi(t.Arg)
		return words(raw, most)
	},
})

// maxWords bounds how many arguments are shown.
// On kernels without bpf_loop the verifier walks each round of the search.
const maxWords = 4096

// ownArgs reports whether the arguments are those of the current program.
// The null pointer means the same as no argument, so that a macro can hand on either.
func ownArgs(c *builtin.Call) bool {
	return len(c.Args) == 0 || c.Consts[0].Kind == builtin.IntConst && c.Consts[0].Int == 0
}

// words decodes an argv_t of which at most most words are shown; 0 is no limit.
// An argument may be empty, and counts.
func words(raw []byte, most int) value.Value {
	if len(raw) < wordsText {
		return value.Null{}
	}
	text := raw[wordsText:]
	text = text[:min(int(binary.NativeEndian.Uint32(raw[wordsLength:])), len(text))]
	out := value.Words{Words: []string{}, Cut: binary.NativeEndian.Uint32(raw[wordsFlags:])&wordsCut != 0}
	for len(text) > 0 {
		if most > 0 && len(out.Words) == most {
			out.Cut = true
			break
		}
		word, rest, _ := bytes.Cut(text, []byte{0})
		out.Words, text = append(out.Words, string(word)), rest
	}
	return out
}

// ownWords reads the arguments of the current program, which lie one behind the other.
// A program may write over its arguments, as setproctitle() does: what stands there now is
// read.
func ownWords(g builtin.Gen, c *builtin.Call, p *ir.Value) {
	b, room := g.B(), c.Result.Size()-wordsText
	pointer := func(at *ir.Value, of, member string) *ir.Value {
		t, _ := c.Machine.TypeByName("struct", of) // Check has seen that it is there
		f, _ := t.(*types.Struct).Field(member)
		to := g.Temp(member, 8, 8)
		b.Store(to, 0, 8, builtin.Number(g, 0))
		builtin.Helper(g, asm.FnProbeReadKernel, to, builtin.Number(g, 8), probe.Member(b, at, f))
		return b.U64(to, 0)
	}
	// A kernel thread has no mm: reads from address 0 fail, and it has no words.
	mm := pointer(g.Task(), "task_struct", "mm")
	start := pointer(mm, "mm_struct", "arg_start")
	all := b.Arith(ir.Sub, pointer(mm, "mm_struct", "arg_end"), start)
	more := b.Arith(ir.ULt, builtin.Number(g, int64(room)), all)
	// One read takes all of them, with the NULs between.
	n := builtin.Clamp(g, all, room)
	g.ReadMem(c.Expr, types.User, p, wordsText, n, start)
	b.Store(p, wordsLength, 4, n)
	b.Store(p, wordsFlags, 4, more)
}

// arrayWords reads the strings of an array of pointers.
// Pointers and strings are in user memory, which may not be there while a probe runs: such a
// string is "?".
func arrayWords(g builtin.Gen, c *builtin.Call, p *ir.Value) {
	const arrayAt, endAt, cutAt = 0, 8, 16
	room := c.Result.Size() - wordsText
	most, _ := strconv.Atoi(c.Result.(*types.Deferred).Arg)
	b := g.B()
	// A string is read whole, and may so end behind the room that there is. What is written to at
	// offsets that are not known is not on the stack, where kernels before 5.12 refuse it.
	const offStack = 520
	// There the verifier knows nothing of the state either: of numbers in registers it would follow
	// each length that all strings together may have.
	stateAt := (2*room + 7) &^ 7
	work := g.Temp("words", max(stateAt+24, offStack), 8)
	state := b.Add(work, int64(stateAt))
	b.Store(state, arrayAt, 8, g.Scalar(c.Args[0]))
	b.Store(state, endAt, 8, builtin.Number(g, 0))
	b.Store(state, cutAt, 8, builtin.Number(g, 0))
	next := func(state *ir.Value) *ir.Value {
		to := g.Temp("string", 8, 8)
		b := g.B()
		b.Store(to, 0, 8, builtin.Number(g, 0))
		g.ReadMem(c.Args[0], types.User, to, 0, builtin.Number(g, 8), b.U64(state, arrayAt))
		return b.U64(to, 0)
	}
	last := func() *ir.Value { return builtin.Number(g, 1) }
	cut := func(state *ir.Value) *ir.Value {
		g.B().Store(state, cutAt, 8, builtin.Number(g, wordsCut))
		return last()
	}
	// A round reads a pointer and the string that it leads to; not 0 ends the loop.
	step := func(_ *ir.Value, vals []*ir.Value) *ir.Value {
		b, work, state := g.B(), vals[0], vals[1]
		addr := next(state)
		return g.Choose(b.Eq(addr, 0), last, func() *ir.Value {
			end := b.U64(state, endAt)
			return g.Choose(b.ULt(end, int64(room)), func() *ir.Value {
				to := b.Arith(ir.Add, work, b.UMin(end, int64(room-1)))
				b.Store(to, 0, 1, builtin.Number(g, 0))
				n := g.ReadStr(c.Args[0], types.User, to, 0, builtin.Number(g, int64(room)), addr)
				n = g.Choose(b.ULt(b.Add(n, -1), int64(room)),
					func() *ir.Value { return n },
					func() *ir.Value { // 0: old kernels do not count the NUL of an empty string
						return g.Choose(n, func() *ir.Value { // it is not in memory
							b.Store(to, 0, 1, builtin.Number(g, '?'))
							b.Store(to, 1, 1, builtin.Number(g, 0))
							return builtin.Number(g, 2)
						}, func() *ir.Value { return builtin.Number(g, 1) })
					})
				b.Store(state, endAt, 8, b.Arith(ir.Add, end, n))
				b.Store(state, arrayAt, 8, b.Add(b.U64(state, arrayAt), 8))
				return builtin.Number(g, 0)
			}, func() *ir.Value { return cut(state) })
		})
	}
	// -1 is the end of the rounds: whether there is a word more one look tells.
	// step ends the search by yielding 1, and then done is the number of its round.
	done := g.Walk(c.Expr, builtin.Number(g, int64(most)), most, []*ir.Value{work, state}, step)
	g.Rarely(b.SLt(done, 0), func() {
		g.When(next(state), func() { cut(state) })
	})
	end := b.U64(state, endAt)
	g.Rarely(b.Arith(ir.ULt, builtin.Number(g, int64(room)), end), func() { cut(state) })
	n := builtin.Clamp(g, end, room)
	builtin.Helper(g, asm.FnProbeReadKernel, b.Add(p, wordsText), n, work)
	b.Store(p, wordsLength, 4, n)
	b.Store(p, wordsFlags, 4, b.U64(state, cutAt))
}
