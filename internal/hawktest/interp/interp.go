package interp

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/check"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

// maxSteps bounds the statements of a run.
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

func fail(format string, args ...any) {
	panic(&Unsupported{fmt.Sprintf(format, args...)})
}

// machine is a script that is running.
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

// A jump is a panic that leaves loops, a probe or the script.
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

// probes runs the probes of a kind until one ends the script.
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
	m.info, m.vars, m.returns = p.Info, map[*check.Var]val{}, nil
	return catch(jumpExit, func() {
		if p.Predicate == nil || truth(m.eval(p.Predicate)) {
			m.block(p.Body, false)
		}
	})
}

// catch runs f until it ends or jumps and reports the jump; those above limit
// go on.
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

// exprStmt runs an expression for its effect.
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
// variable is not seen by the loop.
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
// must not depend on it.
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

func less(x, y uint64, signed bool) bool {
	if signed {
		return int64(x) < int64(y)
	}
	return x < y
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

// place splits a map access.
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

// aggregation is the call that a right-hand side is or ends in.
func (m *machine) aggregation(e syntax.Expr) *syntax.Call {
	switch e := e.(type) {
	case *syntax.Paren:
		return m.aggregation(e.X)
	case *syntax.Block:
		if e.Result != nil {
			return m.aggregation(e.Result)
		}
	case *syntax.Call:
		if c := m.info.Calls[e]; c != nil && c.Agg != nil {
			return e
		}
	}
	return nil
}

// update is @m[k] = agg(x).
func (m *machine) update(s *syntax.AssignStmt, call *syntax.Call) {
	for e := s.RHS; e != syntax.Expr(call); {
		switch x := e.(type) {
		case *syntax.Paren:
			e = x.X
		case *syntax.Block:
			for _, s := range x.Stmts {
				m.stmt(s)
			}
			e = x.Result
		}
	}
	var x uint64
	if len(call.Args) > 0 {
		x = m.eval(call.Args[0]).(uint64)
	}
	t, keys := m.place(s.LHS)
	t.make(m.key(t, keys)).cell.update(t.decl.Value.(*types.Agg), x)
}

// typeOf is the type of an expression's value: of an aggregation that of the
// integer it reads as.
func (m *machine) typeOf(e syntax.Expr) types.Type {
	t := m.info.Types[e]
	if agg, ok := t.(*types.Agg); ok {
		return types.IntOf(8, agg.Signed)
	}
	return t
}

// call is a builtin.
func (m *machine) call(e syntax.Expr, c *builtin.Call) val {
	if c.Agg != nil {
		fail("%s here", c.Name)
	}
	switch c.Func.Name {
	case "printf":
		m.emit(output.Printf{Text: m.printf(c)})
		return nil
	case "print":
		m.print(c)
		return nil
	case "clear", "zero":
		m.reset(m.maps["@"+c.Args[0].(*syntax.Map).Name], c.Func.Name == "zero")
		return nil
	case "delete", "has_key":
		t, keys := m.place(c.Args[0])
		if len(c.Args) > 1 {
			keys = c.Args[1:]
		}
		key := m.key(t, keys)
		there := t.entries[key.text] != nil
		if c.Func.Name == "delete" {
			t.change()
			delete(t.entries, key.text)
		}
		return boolVal(there)
	case "strncmp":
		n := c.Consts[2].Int
		x, y := m.bytes(c.Args[0], n), m.bytes(c.Args[1], n)
		return boolVal(x != y)
	case "find":
		t, _ := m.place(c.Args[0])
		e := t.entries[m.key(t, c.Args[1:2]).text]
		if e == nil {
			return boolVal(false)
		}
		v := m.info.Vars[c.Args[2].(*syntax.Var)]
		from := t.decl.Value
		if agg, ok := from.(*types.Agg); ok {
			from = types.IntOf(8, agg.Signed)
		}
		m.vars[v] = convert(t.read(e.key), from, v.Type)
		return boolVal(true)
	case "len":
		if whole, ok := c.Args[0].(*syntax.Map); ok {
			return uint64(len(m.maps["@"+whole.Name].entries))
		}
	case "strlen":
		return uint64(len(m.eval(c.Args[0]).(string)))
	case "strstr", "strcontains":
		at := strings.Index(m.eval(c.Args[0]).(string), m.eval(c.Args[1]).(string))
		if c.Func.Name == "strcontains" {
			return boolVal(at >= 0)
		}
		return uint64(at)
	case "str_concat":
		both := m.eval(c.Args[0]).(string) + m.eval(c.Args[1]).(string)
		return both[:min(len(both), m.typeOf(e).Size()-1)]
	case "memcmp":
		x, y := toBytes(m.eval(c.Args[0]), m.typeOf(c.Args[0])), toBytes(m.eval(c.Args[1]), m.typeOf(c.Args[1]))
		for i := range min(m.eval(c.Args[2]).(uint64), uint64(len(x)), uint64(len(y))) {
			if d := int64(int8(x[i])) - int64(int8(y[i])); d != 0 {
				return uint64(d)
			}
		}
		return uint64(0)
	case "bswap":
		raw := toBytes(m.eval(c.Args[0]), m.typeOf(c.Args[0]))
		slices.Reverse(raw)
		return fromBytes(raw)
	case "str":
		if s, ok := m.eval(c.Args[0]).(string); ok && len(c.Args) == 1 {
			return s
		}
	case "exit":
		for _, a := range c.Args {
			m.eval(a)
		}
		panic(jumpExit)
	}
	fail("%s", e.Span().Text())
	return nil
}

// bytes are the first n bytes of a string, up to its NUL.
func (m *machine) bytes(e syntax.Expr, n uint64) string {
	s, ok := m.eval(e).(string)
	if !ok {
		fail("a string in memory")
	}
	return s[:min(uint64(len(s)), n)]
}

// print of a map shows what it holds when the event is handled, which is
// certain only if the map does not change any more.
func (m *machine) print(c *builtin.Call) {
	if whole, ok := c.Args[0].(*syntax.Map); ok {
		t := m.maps["@"+whole.Name]
		t.printed = true
		item := t.item()
		for i, to := range []*int64{&item.Top, &item.Div} {
			if n, ok := c.Int(i + 1); ok {
				*to = n
			}
		}
		if t.decl.Key == nil && len(item.Entries) == 0 && !t.isHistogram() {
			item.Entries = []output.Entry{{Value: t.zero()}}
		}
		m.emit(item)
		return
	}
	m.emit(output.Print{Value: m.shownExpr(c.Args[0])})
}

// reset clears a map or its values, like print at a time of user space's.
func (m *machine) reset(t *table, keep bool) {
	t.printed = true
	if !keep {
		clear(t.entries)
	}
	for _, e := range t.entries {
		e.cell = cell{}
		if _, ok := t.decl.Value.(*types.Agg); !ok {
			e.v = zero(t.decl.Value)
		}
	}
}

// shownExpr evaluates an expression that is printed: of an aggregation not
// the integer is shown but what it came to.
func (m *machine) shownExpr(e syntax.Expr) value.Value {
	agg, ok := m.info.Types[e].(*types.Agg)
	if !ok {
		return shown(m.eval(e), m.typeOf(e))
	}
	t, keys := m.place(unparen(e))
	if found := t.entries[m.key(t, keys).text]; found != nil {
		return found.cell.shown(agg)
	}
	return t.zero()
}

func unparen(e syntax.Expr) syntax.Expr {
	for {
		p, ok := e.(*syntax.Paren)
		if !ok {
			return e
		}
		e = p.X
	}
}

// A table is a map of the script.
type table struct {
	decl    *check.Map
	entries map[string]*entry
	printed bool // as a whole, by an event
}

// change notes that an element changes.
func (t *table) change() {
	if t.printed {
		fail("the time when a map is printed")
	}
}

type entry struct {
	key  mapKey
	v    val
	cell cell
}

// A mapKey is a key in the type of the map's keys.
type mapKey struct {
	text string // tells keys apart
	v    val    // nil of a scalar map
}

// key evaluates a key, left to right.
func (m *machine) key(t *table, keys []syntax.Expr) mapKey {
	switch {
	case len(keys) == 0:
		return mapKey{}
	case len(keys) == 1:
		v := convert(m.eval(keys[0]), m.typeOf(keys[0]), t.decl.Key)
		return mapKey{fmt.Sprintf("%#v", v), v}
	}
	to := t.decl.Key.(*types.Tuple)
	parts := make([]val, len(keys))
	for i, k := range keys {
		parts[i] = convert(m.eval(k), m.typeOf(k), to.Elems[i])
	}
	return mapKey{fmt.Sprintf("%#v", val(parts)), parts}
}

// make finds or inserts an element in order to change it.
func (t *table) make(key mapKey) *entry {
	t.change()
	e := t.entries[key.text]
	if e == nil {
		e = &entry{key: key}
		t.entries[key.text] = e
	}
	return e
}

func (t *table) read(key mapKey) val {
	e := t.entries[key.text]
	if agg, ok := t.decl.Value.(*types.Agg); ok {
		if e == nil {
			return uint64(0)
		}
		return e.cell.read(agg)
	}
	if e == nil {
		return zero(t.decl.Value)
	}
	return e.v
}

// zero is what printing an absent element shows.
func (t *table) zero() value.Value {
	if agg, ok := t.decl.Value.(*types.Agg); ok {
		return (&cell{}).shown(agg)
	}
	return shown(zero(t.decl.Value), t.decl.Value)
}

// isHistogram tells maps that print nothing when they are empty.
func (t *table) isHistogram() bool {
	agg, ok := t.decl.Value.(*types.Agg)
	return ok && (agg.Kind == "hist" || agg.Kind == "lhist")
}

// item is the map as it is printed.
func (t *table) item() output.Map {
	item := output.Map{Name: t.decl.Name, Keyed: t.decl.Key != nil}
	var order []string
	for text := range t.entries {
		order = append(order, text)
	}
	slices.SortFunc(order, strings.Compare)
	for _, text := range order {
		e := t.entries[text]
		var out output.Entry
		if item.Keyed {
			out.Key = shown(e.key.v, t.decl.Key)
		}
		if agg, ok := t.decl.Value.(*types.Agg); ok {
			out.Value = e.cell.shown(agg)
		} else {
			out.Value = shown(e.v, t.decl.Value)
		}
		item.Entries = append(item.Entries, out)
	}
	return item
}
