package check

import (
	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// text is the value v of e, or if that is a string of the traced program's
// language, a struct with an address and a length, the text itself: a call of
// str() stands for it. Members of such structs are asked of base.
func (w *walker) text(e syntax.Expr, v val) val {
	s, ok := v.Type.(*types.Struct)
	if !ok || s.Text == nil {
		return v
	}
	at, ok := s.Text()
	if !ok {
		return v
	}
	call := w.texts[e]
	if call == nil {
		call = textCall(e, at)
		if w.texts == nil {
			w.texts = map[syntax.Expr]syntax.Expr{}
		}
		w.texts[e] = call
	}
	return w.standIn(e, call)
}

// textCall reads the text that a value of the traced program refers to.
// The members are those that debug information says, for strings of Go or Rust.
func textCall(e syntax.Expr, at types.Text) syntax.Expr {
	pos := syntax.Pos{At: e.Span()}
	member := func(path []string) syntax.Expr {
		x := (&syntax.Copier{}).Copy(e) // e itself is what the call stands for
		for _, name := range path {
			x = &syntax.Field{Pos: pos, X: x, Name: &syntax.Ident{Pos: pos, Name: name}}
		}
		return x
	}
	return builtin.TextCall(pos, member(at.Addr), member(at.Len))
}

// textRecord is args as a whole, a record of its fields, if there is text among
// them; else nil.
func (w *walker) textRecord(args syntax.Expr) syntax.Expr {
	if w.probe.Args == nil {
		return nil
	}
	if rec := w.texts[args]; rec != nil {
		return rec
	}
	pos := syntax.Pos{At: args.Span()}
	rec := &syntax.Record{Pos: pos}
	found := false
	for _, f := range w.probe.Args.Fields() {
		if f.Name == "" || f.Type.Size() == 0 {
			continue
		}
		if s, ok := f.Type.(*types.Struct); ok && s.Text != nil {
			found = true
		}
		name := &syntax.Ident{Pos: pos, Name: f.Name}
		rec.Fields = append(rec.Fields, &syntax.RecordField{Pos: pos, Name: name,
			Value: &syntax.Field{Pos: pos, X: (&syntax.Copier{}).Copy(args), Name: name}})
	}
	if !found {
		return nil
	}
	if w.texts == nil {
		w.texts = map[syntax.Expr]syntax.Expr{}
	}
	w.texts[args] = rec
	return rec
}
