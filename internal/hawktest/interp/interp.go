package interp

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/hawktrace/hawk/internal/check"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// maxSteps bounds the statements of a run. A shrunken script may have lost what ended its loop.
const maxSteps = 1 << 22

// An Unsupported is something in a script that the interpreter does not know.
type Unsupported struct{ What string }

func (u *Unsupported) Error() string { return "the interpreter does not know " + u.What }

// A Mistyped is a fact of the type checker that contradicts the specification.
type Mistyped struct {
	At   source.Span
	What string
}

func (m *Mistyped) Error() string {
	line, col := m.At.File.Position(m.At.Start)
	return fmt.Sprintf("%d:%d: %s: %s", line, col, m.At.Text(), m.What)
}

// fail ends the run by a panic that Run turns into its error. Callers that compare hawk with the
// interpreter then pass the script over.
func fail(format string, args ...any) {
	panic(&Unsupported{fmt.Sprintf(format, args...)})
}

// machine is a script that is running. It has no lock: one goroutine runs it.
type machine struct {
	out   bytes.Buffer
	sink  output.Sink
	maps  map[string]*table
	steps int

	info *check.Info // of the probe that runs
	vars map[*check.Var]val
	// returns takes the value of return inside a function; nil in a probe.
	returns func(*syntax.JumpStmt)
}

// A jump is a panic that leaves loops, a probe or the script. The order matters: catch lets
// those through that are above its limit, and each of these leaves more than the one before.
type jump uint8

const (
	jumpNot jump = iota
	jumpContinue
	jumpBreak
	jumpReturn
	jumpExit
)

// Run runs the begin and then the end probes of a program and returns what
// hawk is to write to its standard output. The error is an *Unsupported or a
// *Mistyped.
func Run(p *check.Program) (stdout string, err error) {
	m := &machine{maps: map[string]*table{}}
	// The sink is hawk's own: how output is written is tested elsewhere, here it is the values
	// that count.
	m.sink = output.NewText(&m.out, &m.out, output.Options{Buffering: output.FullyBuffered})
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *Unsupported:
			err = r
		case *Mistyped:
			err = r
		default:
			panic(r)
		}
	}()
	for _, decl := range p.Maps {
		m.maps[decl.Name] = &table{decl: decl, entries: map[string]*entry{}}
	}
	m.probes(p, "begin")
	m.probes(p, "end")
	// Behind the end probes hawk prints the maps that have elements, in the order of their
	// declarations.
	m.emit(output.End{})
	for _, decl := range p.Maps {
		if t := m.maps[decl.Name]; len(t.entries) > 0 {
			m.emit(t.item())
		}
	}
	if err := m.sink.Flush(); err != nil {
		return "", err
	}
	return m.out.String(), nil
}

func (m *machine) emit(item output.Item) {
	if err := m.sink.Write(item); err != nil {
		panic(err)
	}
}

// probes runs the probes of a kind until one ends the script. A probe with several attach points
// runs once for each.
func (m *machine) probes(p *check.Program, kind string) {
	for _, probe := range p.Probes {
		if probe.Kind.Name != kind {
			continue
		}
		for range probe.Points {
			if m.probe(probe) == jumpExit {
				return
			}
		}
	}
}

// probe runs a probe once and reports how it ended.
func (m *machine) probe(p *check.Probe) jump {
	// Scratch variables live for one event.
	m.info, m.vars, m.returns = p.Info, map[*check.Var]val{}, nil
	return catch(jumpExit, func() {
		if p.Predicate == nil || truth(m.eval(p.Predicate)) {
			m.block(p.Body, false)
		}
	})
}

// catch runs f until it ends or jumps and reports the jump; those above limit
// go on. A panic that is none of these is a bug, and goes on.
func catch(limit jump, f func()) (how jump) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case jump:
			if r > limit {
				panic(r)
			}
			how = r
		default:
			panic(r)
		}
	}()
	f()
	return jumpNot
}

// block runs statements and yields the value of the trailing expression if
// wanted; else that is a statement too.
func (m *machine) block(b *syntax.Block, wanted bool) val {
	for _, s := range b.Stmts {
		m.stmt(s)
	}
	switch {
	case b.Result == nil:
		return nil
	case wanted:
		return m.eval(b.Result)
	}
	m.exprStmt(b.Result)
	return nil
}

// step counts statements and rounds of loops. An empty loop has no statement, so that its body
// counts.
func (m *machine) step() {
	if m.steps++; m.steps > maxSteps {
		fail("the end of a script that goes on and on")
	}
}

func (m *machine) stmt(s syntax.Stmt) {
	m.step()
	switch s := s.(type) {
	case *syntax.ExprStmt:
		m.exprStmt(s.X)
	case *syntax.LetStmt:
		v := m.info.Vars[s.Var]
		init := zero(v.Type)
		if s.Init != nil {
			init = convert(m.eval(s.Init), m.typeOf(s.Init), v.Type)
		}
		m.vars[v] = init
	case *syntax.AssignStmt:
		m.assign(s)
	case *syntax.DiscardStmt:
		m.eval(s.X)
	case *syntax.JumpStmt:
		switch {
		case m.returns != nil && s.Kind == syntax.Return:
			m.returns(s)
		case s.Value != nil:
			m.eval(s.Value)
		}
		// The order of the literal is that of the kinds in package syntax.
		panic([...]jump{jumpBreak, jumpContinue, jumpReturn}[s.Kind])
	case *syntax.ForStmt:
		m.forRange(s)
	case *syntax.WhileStmt:
		for truth(m.eval(s.Cond)) && m.body(s.Body) {
		}
	case *syntax.UnrollStmt:
		for range m.info.Unrolls[s] {
			if !m.body(s.Body) {
				break
			}
		}
	default:
		fail("statements like %s", s.Span().Text())
	}
}

// exprStmt runs an expression for its effect. An if as a statement has no value to convert, and
// its arms may differ in type.
func (m *machine) exprStmt(e syntax.Expr) {
	switch e := m.info.Evaluated(e).(type) {
	case *syntax.If:
		if truth(m.eval(e.Cond)) {
			m.block(e.Then, false)
		} else if e.Else != nil {
			m.exprStmt(e.Else)
		}
	case *syntax.Block:
		m.block(e, false)
	default:
		m.eval(e)
	}
}

// body runs a loop's body once and reports whether the loop goes on.
func (m *machine) body(b *syntax.Block) bool {
	m.step()
	return catch(jumpBreak, func() { m.block(b, false) }) != jumpBreak
}

// forRange: both ends are evaluated once, and what the body does to the
// variable is not seen by the loop. An end below the start makes no round.
func (m *machine) forRange(s *syntax.ForStmt) {
	v := m.info.Vars[s.Var]
	if s.Over != nil {
		m.forMap(s, v)
		return
	}
	t, ok := types.IsInteger(v.Type)
	if !ok {
		panic(&Mistyped{s.Var.Span(), "a loop variable of type " + v.Type.String()})
	}
	i := convert(m.eval(s.From), m.typeOf(s.From), t).(uint64)
	end := convert(m.eval(s.To), m.typeOf(s.To), t).(uint64)
	for ; less(i, end, t.Signed); i++ {
		m.vars[v] = i
		if !m.body(s.Body) {
			break
		}
	}
}

// forMap goes through the elements in an order of its own: what the body does
// must not depend on it. The order is fixed for the sake of the interpreter alone: a run that is
// repeated must be the same. An element that was deleted by an earlier round is skipped.
func (m *machine) forMap(s *syntax.ForStmt, v *check.Var) {
	t := m.maps["@"+s.Over.Name]
	var order []string
	for text := range t.entries {
		order = append(order, text)
	}
	slices.Sort(order)
	of := t.decl.Value
	if agg, ok := of.(*types.Agg); ok {
		of = types.IntOf(8, agg.Signed)
	}
	pair := types.NewTuple(t.decl.Key, of)
	for _, text := range order {
		e := t.entries[text]
		if e == nil {
			continue
		}
		m.vars[v] = convert([]val{e.key.v, t.read(e.key)}, pair, v.Type)
		if !m.body(s.Body) {
			break
		}
	}
}

// assign: the right side is evaluated first; lv op= x is lv = lv op (x).
func (m *machine) assign(s *syntax.AssignStmt) {
	if call := m.aggregation(s.RHS); call != nil {
		m.update(s, call)
		return
	}
	var x val
	from := m.typeOf(s.RHS)
	if s.Op == syntax.Assign {
		x = m.eval(s.RHS)
	} else {
		// In lv op= x the old value is read before x is evaluated, and the key is evaluated
		// twice. Generated scripts have no effects in such a key.
		old := m.eval(s.LHS)
		x, from = m.binary(s, s.Op.Binary(), old, m.typeOf(s.LHS), m.eval(s.RHS), from)
	}
	switch lhs := s.LHS.(type) {
	case *syntax.Var:
		v := m.info.Vars[lhs]
		m.vars[v] = convert(x, from, v.Type)
	default:
		t, keys := m.place(lhs)
		key := m.key(t, keys)
		t.make(key).v = convert(x, from, t.decl.Value)
	}
}

// place splits a map access. The key is not evaluated yet: in an assignment the value comes
// first.
func (m *machine) place(e syntax.Expr) (*table, []syntax.Expr) {
	switch e := e.(type) {
	case *syntax.Map:
		return m.maps["@"+e.Name], nil
	case *syntax.MapIndex:
		return m.maps["@"+e.Map.Name], e.Keys
	}
	fail("assigning to %s", e.Span().Text())
	return nil, nil
}
