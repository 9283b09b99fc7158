package check

import (
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// An if on a comptime condition takes part in inference only with the arm that
// is taken. So inference first goes as far as it gets without either arm;
// then conditions that have a value are decided, what they depended on is
// locked, and inference starts again, until there is nothing left to decide.

// settle runs inference with everything that comptime decides. Each round decides at least one
// condition, of which a script has a finite number. In a round without one nothing is left to be
// found out, and a condition that still has no value depends on itself.
// Deciding is a walk of its own, behind an inference that stands still: earlier, a size could
// still change.
func (c *checker) settle() {
	for {
		c.undecided = false
		c.infer()
		if !c.undecided {
			return
		}
		c.deciding, c.decided = true, false
		for _, w := range c.walks {
			w.walk()
		}
		c.deciding = false
		if !c.decided {
			return // the last walk reports what has no value
		}
		// The walk that decided has joined types into next; they are taken over so that restart can
		// lock them.
		c.slots(func(s *slot) { s.advance(false) })
		c.slots((*slot).restart)
	}
}

// restart forgets what was inferred; what a comptime condition asked for is
// locked to what it was told.
func (s *slot) restart() {
	if s.fixed {
		return
	}
	// A type that an earlier decision was told stays locked: the decision would else be one about
	// another type.
	locked := s.locked
	if s.asked && locked.Type == nil {
		locked = s.cur
	}
	*s = slot{locked: locked, asked: s.asked, fallback: s.fallback}
}

// lockedAgainst reports a store that would widen a locked type.
// A narrower store is fine, as the slot keeps its type.
func (w *walker) lockedAgainst(s *slot, x val, at syntax.Node, name string) bool {
	if s.locked.Type == nil || types.Same(s.locked.Type, s.cur.Type) {
		return false
	}
	if j, ok := types.Join(s.locked, asIntegerFor(s.locked.Type, x.Flex)); ok && types.Same(j.Type, s.locked.Type) {
		return false
	}
	w.errorf(at, "locked-type",
		"Type mismatch for %s: its type is locked to '%s', because a comptime condition depends on it, and "+
			"this is '%s'",
		name, s.locked.Type, x.Type)
	return true
}

// comptime is comptime x.
func (w *walker) comptime(e *syntax.Comptime) val {
	w.literal++
	v := w.expr(e.X)
	w.literal--
	if v.Type != nil && !v.isLiteral() {
		w.errorf(syntax.Unparen(e.X), "comptime", "Unable to evaluate at compile time")
	}
	return v
}

// An arm is what a comptime condition leaves of a conditional.
type arm uint8

// An arm that was decided stays so in all later walks.
const (
	bothArms arm = iota // the condition is no comptime
	thenArm
	elseArm
	noArm // not decided yet
)

// arm decides a conditional with a comptime condition.
func (w *walker) arm(e, cond syntax.Expr) arm {
	c, ok := syntax.Unparen(cond).(*syntax.Comptime)
	if !ok {
		return bothArms
	}
	a, known := w.arms[e]
	if known && !w.final { // the last walk reports what is wrong with the condition
		return a
	}
	w.unevaluated++
	w.literal++
	v := w.expr(c.X)
	w.literal--
	w.unevaluated--
	if known {
		return a
	}
	switch {
	case v.k.Kind == builtin.NoConst && w.final && v.Type != nil:
		w.errorf(syntax.Unparen(c.X), "comptime", "Unable to evaluate at compile time")
	case v.k.Kind != builtin.NoConst && (w.deciding || w.final):
		if w.arms == nil {
			w.arms = map[syntax.Expr]arm{}
		}
		w.decided = true
		w.arms[e] = elseArm
		if truth(v.k) {
			w.arms[e] = thenArm
		}
		if w.final {
			return w.arms[e]
		}
		// The arm must not change what deciding it has locked.
	}
	w.undecided, w.waits = true, append(w.waits, later)
	return noArm
}

// only evaluates the arm that is left of a conditional, nil if it has none.
// lower takes what stands in Stands and never sees the other arm, which may name what this
// machine does not have.
func (w *walker) only(e, x syntax.Expr) val {
	if x == nil {
		x = &syntax.Block{Pos: syntax.Pos{At: e.Span()}}
	}
	if w.final && w.unevaluated == 0 {
		w.info.Stands[e] = x
	}
	return w.expr(x)
}

// typeInfo is typeinfo(x): a record of literals.
func (w *walker) typeInfo(e *syntax.TypeInfo) val {
	w.unstable(e, "typeinfo")
	rec := w.typeRecord(e)
	if rec == nil {
		return val{}
	}
	return w.standIn(e, rec)
}

// standIn evaluates x in the place of e.
// x is kept by the caller, as tables are by node: each walk has to evaluate the same one.
func (w *walker) standIn(e, x syntax.Expr) val {
	if w.final && w.unevaluated == 0 {
		w.info.Stands[e] = x
	}
	was := w.longText
	w.longText = true // max_strlen is for what the script says
	v := w.expr(x)
	w.longText = was
	return v
}

// typeRecord is the record that stands for a typeinfo, nil if the type is not
// known.
// It is made of syntax, so that members and comparisons of it fold like those of any record of
// literals.
func (w *walker) typeRecord(e *syntax.TypeInfo) *syntax.Record {
	var t types.Type
	if e.X != nil {
		t = w.typeOf(e.X)
	} else {
		t = w.operandType(e.Type, nil)
	}
	if t == nil {
		return nil
	}
	id := uint64(0)
	if s, ok := t.(*types.Struct); ok {
		id = uint64(s.BTFID)
	}
	pos := e.Pos
	text := func(s string) syntax.Expr { return &syntax.StringLit{Pos: pos, Text: strconv.Quote(s), Value: s} }
	rec := &syntax.Record{Pos: pos}
	for _, f := range []struct {
		name  string
		value syntax.Expr
	}{
		{"btf_id", &syntax.Cast{
			Pos: pos, Type: &syntax.TypeExpr{Pos: pos, Name: "uint64"},
			X: &syntax.IntLit{Pos: pos, Text: strconv.FormatUint(id, 10), Value: id},
		}},
		{"base_type", text(typeClass(t))},
		{"full_type", text(t.String())},
	} {
		rec.Fields = append(rec.Fields, &syntax.RecordField{Pos: pos,
			Name: &syntax.Ident{Pos: pos, Name: f.name}, Value: f.value})
	}
	return rec
}

// typeClass is the base name of language.md 9.9.
// Macros of the library branch on these words. The catalogue of the language fixes them.
func typeClass(t types.Type) string {
	switch t := t.(type) {
	case *types.Int, *types.Enum:
		return "int"
	case *types.Tuple:
		return "tuple"
	case *types.Record:
		return "record"
	case *types.Struct:
		return "c_type"
	case *types.Agg:
		return t.Kind + "_t"
	case *types.Stack:
		name, _, _ := strings.Cut(t.String(), "_")
		return name
	case *types.Deferred:
		name, _, _ := strings.Cut(t.Name, "[")
		return name
	default:
		return baseName(t)
	}
}
