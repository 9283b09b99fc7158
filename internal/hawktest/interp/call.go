package interp

import (
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

// aggregation is the call that a right-hand side is or ends in. It looks through parentheses and
// blocks, since a macro whose last expression is an aggregation expands to them.
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

// update is @m[k] = agg(x). The statements of blocks around the call run first, and the key is
// evaluated last: the value before the place, as in any assignment.
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

// call is a builtin. The list is of what scriptgen writes and of nothing else: a builtin that
// reads the machine's state would have no one right answer.
func (m *machine) call(e syntax.Expr, c *builtin.Call) val {
	// An aggregation is a call in the right-hand side of an assignment only, which update
	// handles.
	if c.Agg != nil {
		fail("%s here", c.Name)
	}
	switch c.Func.Name {
	case "printf":
		m.emit(&output.Printf{Text: m.printf(c)})
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
			// The deletion counts as a change even if there is no such key: whether print sees
			// the map before or after it is not known all the same.
			t.change()
			delete(t.entries, key.text)
		}
		return boolVal(there)
	case "strncmp":
		n := c.Consts[2].Int
		x, y := m.bytes(c.Args[0], n), m.bytes(c.Args[1], n)
		// The language yields 0 for equality and 1 for anything else, not C's order.
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
		// A variable is not touched where the key is not found.
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
		// A string of a type ends in a NUL, which is one byte of its size.
		return both[:min(len(both), m.typeOf(e).Size()-1)]
	case "memcmp":
		x, y := m.memory(c.Args[0]), m.memory(c.Args[1])
		// Bytes are compared with their signs, as the program in the kernel does it. The length
		// may be wrong: no byte behind either value is read.
		for i := range min(m.eval(c.Args[2]).(uint64), uint64(len(x)), uint64(len(y))) {
			if d := int64(int8(x[i])) - int64(int8(y[i])); d != 0 {
				return uint64(d)
			}
		}
		return uint64(0)
	case "bswap":
		// The type says how many bytes are swapped: bswap of a uint16 stays below 65536.
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
		// The arguments have been evaluated for their effects: exit's status is no part of the
		// output.
		panic(jumpExit)
	}
	fail("%s", e.Span().Text())
	return nil
}

// memory is a value as it lies in memory. What a pointer leads to is memory of the machine,
// which an interpreter does not have.
func (m *machine) memory(e syntax.Expr) []byte {
	v, t := m.eval(e), m.typeOf(e)
	if _, ok := t.(*types.Pointer); ok {
		fail("what a pointer leads to")
	}
	return toBytes(v, t)
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
// certain only if the map does not change any more. hawk's user space reads the map some time
// after the event. So a map that was printed must stay as it is until the end of the run, which
// change enforces.
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
		// A scalar that was never set prints as zero, while a histogram of nothing has no line
		// to print.
		if t.decl.Key == nil && item.Entries.Len() == 0 && !t.isHistogram() {
			item.Entries.Add(nil, t.zero())
		}
		m.emit(item)
		return
	}
	m.emit(output.Print{Value: m.shownExpr(c.Args[0])})
}

// reset clears a map or its values, like print at a time of user space's. Values are set to zero
// in place by zero, and the keys stay.
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
	// The block of a macro has statements to run before the aggregation that it ends in is
	// looked up.
	if block, ok := syntax.Unparen(e).(*syntax.Block); ok {
		for _, s := range block.Stmts {
			m.stmt(s)
		}
		return m.shownExpr(block.Result)
	}
	t, keys := m.place(syntax.Unparen(e))
	if found := t.entries[m.key(t, keys).text]; found != nil {
		return found.cell.shown(agg)
	}
	return t.zero()
}
