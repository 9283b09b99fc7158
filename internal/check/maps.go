package check

import (
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/config"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/spell"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// A sortOfMap says whether a map has keys. Its first use decides.
type sortOfMap uint8

const (
	unused sortOfMap = iota
	scalar
	keyed
)

// A mapState is what is known of a map so far. A map holds values or is updated by an aggregation,
// whichever comes first in the script.
// There is one for each name in the script, made by its first mention, wherever that is.
type mapState struct {
	name    string // with @
	sort    sortOfMap
	sortAt  source.Span // where sort was fixed
	first   source.Span // first mention
	stored  bool        // some statement gives it values
	read    bool        // some expression reads a value
	told    bool        // the warning that nothing is stored here was given
	deleted bool
	walked  bool
	key     slot
	value   slot

	agg     *builtin.Agg // the aggregation that updates it, nil for plain values
	aggAt   source.Span
	params  []int64
	hasArgs bool // params are known
	signed  bool
	plainAt source.Span // first plain store

	decl *syntax.MapDecl
}

// The kinds of map that a declaration names, those of aggregations per CPU.
var mapKinds = []string{"hash", "lruhash", "percpuhash", "percpulruhash"}

// perCPUKind reports whether a kind of map has cells for each CPU.
func perCPUKind(kind string) bool { return kind == "percpuhash" || kind == "percpulruhash" }

// entries is the declared size of a map; expand has put a number for an option.
// 1 stands for what expand could not make a number of, and has reported.
func entries(d *syntax.MapDecl) uint64 {
	n, ok := d.Entries.(*syntax.IntLit)
	if !ok {
		return 1
	}
	return n.Value
}

// declareMaps takes over the declarations of maps: let @name = hash(1000).
func (c *checker) declareMaps() {
	for _, d := range c.script.Maps {
		name := "@" + d.Map.Name
		kind := d.Kind.Name
		if kind == "lrupercpuhash" {
			kind = "percpulruhash"
		}
		if !slices.Contains(mapKinds, kind) {
			e := c.ds.Errorf("bad-map-kind", d.Kind.Span(), "Invalid bpf map type: %s", d.Kind.Name)
			if near := spell.Nearest(kind, mapKinds); near != "" {
				e.Hint("did you mean %s?", near)
			} else {
				e.Hint("map types are: %s", strings.Join(mapKinds, ", "))
			}
			continue
		}
		if entries(d) < 1 || entries(d) > config.MostMapKeys {
			c.ds.Errorf("bad-map-size", d.Entries.Span(),
				"%s: the number of entries must be between 1 and %d", name, config.MostMapKeys)
		}
		if old := c.maps[name]; old != nil {
			if old.decl.Kind.Name != d.Kind.Name || entries(old.decl) != entries(d) {
				c.ds.Errorf("map-redeclared", d.Span(), "%s is declared already", name).
					Note(old.decl.Span(), "the first declaration is here")
			}
			continue
		}
		c.maps[name] = &mapState{name: name, decl: d}
	}
}

// mapNamed finds the state of a map, which exists from its first mention on.
func (w *walker) mapNamed(m *syntax.Map) *mapState {
	name := "@" + m.Name
	s := w.maps[name]
	if s == nil {
		s = &mapState{name: name}
		w.maps[name] = s
	}
	if !s.first.Valid() {
		s.first = m.Span()
	}
	return s
}

// defined reports whether a map has values, if only the zeros of one that is read.
func (m *mapState) defined() bool { return m.stored || m.read }

// startFinal makes the last walk read what inference has found.
func (m *mapState) startFinal() {
	// Reads go by what inference found.
	m.key.next, m.value.next = m.key.cur, m.value.cur
}

// sortIs notes or checks that a map is used with or without a key.
// The first use in the order of the script decides, also one in a copy or in a branch that
// never runs.
func (w *walker) sortIs(m *mapState, want sortOfMap, at syntax.Node) bool {
	if m.sort == unused {
		m.sort, m.sortAt = want, at.Span()
	}
	if m.sort == want {
		return true
	}
	var d *source.Diagnostic
	if want == keyed {
		d = w.errorf(at, "map-sort",
			"%s used as a map with an explicit key (non-scalar map), previously used without an explicit key "+
				"(scalar map)", m.name).
			Note(m.sortAt, "it was first used here")
	} else {
		d = w.errorf(at, "map-sort",
			"%s used as a map without an explicit key (scalar map), previously used with an explicit key "+
				"(non-scalar map)", m.name).
			Note(m.sortAt, "it was first used here")
	}
	d.Hint("a map has a key everywhere or nowhere: give one of the two another name")
	return false
}

// mapValue is the value that a read yields.
func (w *walker) mapValue(m *mapState, at *syntax.Map) val {
	if w.final && !m.defined() {
		w.undefinedMap(m, at)
		return val{}
	}
	if m.agg != nil {
		return val{Flex: types.Flex{Type: m.aggType()}}
	}
	if w.unevaluated > 0 {
		m.value.asked = true
	}
	return w.readSlot(&m.value)
}

// readMap is the value of a map in an expression. One that nothing is stored to is empty and has integers: the
// probe that stores may have been removed, since what it probes is missing here.
func (w *walker) readMap(m *mapState, at *syntax.Map) val {
	if w.unevaluated > 0 {
		return w.mapValue(m, at)
	}
	m.read = true
	if w.final && !m.stored && !m.told && !w.script.Incomplete {
		m.told = true
		d := w.warnf(at, "never-stored", "Undefined map: %s; nothing is stored in it, so it reads as 0", m.name)
		w.similarMap(m, d)
	}
	return w.mapValue(m, at)
}

// undefinedMap reports a map that is read and never written, with the one that was meant.
func (w *walker) undefinedMap(m *mapState, at *syntax.Map) {
	if w.script.Incomplete {
		return // a probe that was left out may define it
	}
	d := w.errorf(at, "undefined-map", "Undefined map: %s", m.name)
	if w.script.Absent != "" {
		d.Hint("what stores to it may be left out, as %s is: nothing has that name", w.script.Absent)
	}
	w.similarMap(m, d)
}

// similarMap adds the name of the map that was probably meant.
func (w *walker) similarMap(m *mapState, d *source.Diagnostic) {
	var names []string
	for n, other := range w.maps {
		if other.stored {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	if near := spell.Nearest(m.name, names); near != "" {
		d.Hint("did you mean %s?", near)
	}
}

// aggType is the type of the map's cells. It is signed as soon as one of its values may be
// negative.
func (m *mapState) aggType() *types.Agg {
	return &types.Agg{Kind: m.agg.Name, Signed: m.signed && !m.agg.Unsigned, Params: m.params}
}

// keys evaluates the key of an access and joins it into the map's.
func (w *walker) keys(m *mapState, keys []syntax.Expr, at syntax.Node) {
	v := w.keyOf(keys)
	w.joinKey(m, v, keys, at)
}

// keyOf is the value of a key: of several parts, a tuple.
// @m[a, b] and @m[(a, b)] are so the same.
func (w *walker) keyOf(keys []syntax.Expr) val {
	if len(keys) == 1 {
		return w.keyValue(keys[0])
	}
	parts := make([]val, len(keys))
	for i, k := range keys {
		parts[i] = w.keyValue(k)
	}
	w.sizeOK(keys[len(keys)-1], parts)
	return tupleOf(parts)
}

// keyValue is one part of a key; aggregations are read as integers.
// The context is no key: its address says nothing, and the verifier lets nobody store it.
func (w *walker) keyValue(e syntax.Expr) val {
	v := w.expr(e)
	if id, ok := syntax.Unparen(e).(*syntax.Ident); ok && asksFor(id.Name)&hasCtx != 0 {
		w.errorf(e, "bad-map-key", "%s can not be used as a map key", id.Name)
		return val{}
	}
	v = w.gathered(v, e)
	w.textAddress(e, v)
	if t, ok := v.Type.(*types.Agg); ok {
		if i, ok := w.castable(t); ok {
			v.Flex = types.Flex{Type: i}
			return v
		}
		w.errorf(e, "bad-map-key", "%s can not be used as a map key", t)
		return val{}
	}
	if isNothing(v.Type) || v.Type != nil && v.Type.Size() == 0 {
		w.errorf(e, "bad-map-key", "%s can not be used as a map key", v.Type)
		return val{}
	}
	return v
}

// textAddress warns of a key that is the address of a text where the text was
// probably meant: every process has others.
func (w *walker) textAddress(e syntax.Expr, v val) {
	if isTextAddress(e, v.Type) && w.unevaluated == 0 {
		w.warnf(e, "address-key", "The key is the address of a text, not the text").Hint("str(%s)?", e.Span().Text())
	}
}

// isTextAddress tells an argument of the probe that is the address of a text.
func isTextAddress(e syntax.Expr, t types.Type) bool {
	f, ok := syntax.Unparen(e).(*syntax.Field)
	p, isPointer := t.(*types.Pointer)
	return ok && isPointer && argsItself(f.X) && types.Same(p.Elem, types.Int8)
}

// joinKey joins a key into that of the map, or in the last walk checks that it is of the map's
// type.
func (w *walker) joinKey(m *mapState, v val, keys []syntax.Expr, at syntax.Node) {
	if v.Type == nil || w.unevaluated > 0 {
		return
	}
	if !w.final {
		m.key.join(v.Flex, types.Unset)
		return
	}
	cur := m.key.cur.Type
	if cur == nil || w.lockedAgainst(&m.key, v, at, "the keys of "+m.name) {
		return
	}
	j, ok := types.Join(m.key.cur, asIntegerFor(cur, v.Flex))
	if !ok || !types.Same(j.Type, cur) {
		w.errorf(at, "map-key-mismatch",
			"Argument mismatch for %s: trying to access with arguments: '%s' when map expects arguments: '%s'",
			m.name, baseName(v.Type), baseName(cur)).Note(m.sortAt, "it was first used here")
		return
	}
	for i, k := range keys {
		part, to := v.Flex, cur
		if len(keys) > 1 {
			part, to = elemOf(v.Flex, i), cur.(*types.Tuple).Elems[i]
		}
		w.lossy(k, part, to)
	}
}

// elemOf is element i of a tuple.
func elemOf(f types.Flex, i int) types.Flex {
	if f.Elems != nil {
		return f.Elems[i]
	}
	if t, ok := f.Type.(*types.Tuple); ok {
		return types.Flex{Type: t.Elems[i]}
	}
	return types.Flex{}
}

// aggregate handles @m = count() and its like. call is inside rhs, behind
// parentheses or at the end of blocks.
// Arguments are checked even where the map is of another kind, for the mistakes in them.
func (w *walker) aggregate(m *mapState, a *builtin.Agg, call *syntax.Call, at syntax.Node) {
	c := w.newCall(call, call.Func.Name)
	c.Agg = a
	if a.Unstable != "" {
		w.unstable(call.Func, a.Unstable)
	}
	w.arguments(c, a.Params, a.Min, false, nil, call.Args)
	signed := false
	if len(c.Types) > 0 {
		if i, ok := asInteger(c.Types[0]); ok {
			signed = i.Signed
		} else if c.Types[0] == nil {
			m.value.broken = true
		}
	}
	// The call has no value: it updates the map.
	w.info.Types[call] = types.None
	ok := w.countOK(call.Func, a.Name, len(call.Args), a.Min, len(a.Params), false)
	var params []int64
	if ok && a.Check != nil {
		params, ok = a.Check(c)
	}
	if w.unevaluated > 0 {
		w.errorf(call, "assign-unevaluated", "Can not assign to a map inside an expression that is not evaluated")
		return
	}
	m.stored = true
	if m.agg == nil && !m.plainAt.Valid() {
		m.agg, m.aggAt = a, at.Span()
	}
	m.signed = m.signed || signed
	if ok && !m.hasArgs && m.agg == a {
		m.params, m.hasArgs = params, true
	}
	if w.final {
		switch {
		case m.agg == nil:
			w.errorf(at, "map-value-mismatch",
				"Type mismatch for %s: trying to assign value of type '%s' when map already has a type '%s'",
				m.name, &types.Agg{Kind: a.Name, Signed: signed}, name(m.value.cur.Type)).
				Note(m.plainAt, "the first assignment is here")
			return
		case m.agg != a:
			w.errorf(at, "map-value-mismatch",
				"Type mismatch for %s: trying to assign value of type '%s' when map already has a type '%s'",
				m.name, &types.Agg{Kind: a.Name, Signed: signed}, m.aggType()).
				Note(m.aggAt, "the first assignment is here")
		case ok && !slices.Equal(params, m.params):
			w.errorf(call, "agg-parameters", "Different parameters for %s() of %s", a.Name, m.name).
				Note(m.aggAt, "the first assignment is here")
		}
		c.Result = m.aggType()
		w.info.Calls[call] = c
	}
}

// aggCall finds the aggregation that a right-hand side is, if it is one.
// A macro that ends in count() is such a block.
func aggCall(e syntax.Expr) (*builtin.Agg, *syntax.Call) {
	for {
		switch x := e.(type) {
		case *syntax.Paren:
			e = x.X
		case *syntax.Block:
			if x.Result == nil {
				return nil, nil
			}
			e = x.Result
		case *syntax.Call:
			a, ok := builtin.LookupAgg(x.Func.Name)
			if !ok {
				return nil, nil
			}
			return a, x
		default:
			return nil, nil
		}
	}
}

// store joins a plain value into a map. rhs is nil for ++ and --.
// plainAt is the first store in the order of the script: messages about the others point there.
func (w *walker) store(m *mapState, v val, waits []*slot, at, rhs syntax.Node) {
	if w.unevaluated > 0 {
		w.errorf(at, "assign-unevaluated", "Can not assign to a map inside an expression that is not evaluated")
		return
	}
	m.stored = true
	if m.agg == nil && !m.plainAt.Valid() {
		m.plainAt = at.Span()
	}
	if v.Type == nil {
		m.value.unknown(waits)
		return
	}
	if m.agg != nil {
		w.errorf(at, "map-value-mismatch",
			"Type mismatch for %s: trying to assign value of type '%s' when map already has a type '%s'",
			m.name, v.Type, m.aggType()).Note(m.aggAt, "the first assignment is here")
		return
	}
	if agg, ok := v.Type.(*types.Agg); ok {
		w.storeAgg(m, agg, at)
		return
	}
	v = w.gathered(v, rhs)
	if !w.storableValue(v.Type, at, "map "+m.name) {
		m.value.broken = true
		return
	}
	w.storeSlot(&m.value, v, at, rhs, m.name, "map", m.plainAt)
}

// storeAgg is @m = @agg: an integer if the map holds integers anyway, else a
// mistake more often than not.
func (w *walker) storeAgg(m *mapState, agg *types.Agg, at syntax.Node) {
	i, ok := w.castable(agg)
	if ok && m.value.cur.Type != nil {
		if _, isInt := types.IsInteger(m.value.cur.Type); isInt {
			if !w.final {
				m.value.join(types.Flex{Type: i}, types.Unset)
			}
			return
		}
	}
	m.value.broken = true
	d := w.errorf(at, "aggregation-copy", "Map value '%s' cannot be assigned from one map to another. "+
		"The function that returns this type must be called directly e.g. `%s = %s();`.", agg, m.name, agg.Kind)
	if ok {
		d.Hint("Add a cast to integer if you want the value of the aggregate, e.g. `%s = (%s)…;`.", m.name, i)
	} else {
		d.Hint("Only print, clear, zero, delete, len and has_key work on it")
	}
}

// finishMap makes the map of the program; nil for one that is only declared.
// An entry is enough for a scalar, whatever was declared.
func (c *checker) finishMap(m *mapState) *Map {
	if !m.stored && (!m.read || m.value.cur.Type == nil) {
		if m.decl != nil && !m.first.Valid() {
			c.ds.Warnf("unused-map", m.decl.Span(), "Unused map: %s", m.name)
		}
		return nil
	}
	out := &Map{Name: m.name, MaxEntries: c.script.Config.MaxMapKeys, First: m.first,
		DeletedFrom: m.deleted, Walked: m.walked}
	if m.agg != nil {
		out.Value = m.aggType()
	} else {
		out.Value = m.value.cur.Type
	}
	out.MaxEntries = c.script.Config.MaxMapKeys
	if m.sort == keyed {
		out.Key, out.KeyParts = m.key.cur.Type, 1
		if t, ok := out.Key.(*types.Tuple); ok {
			out.KeyParts = len(t.Elems)
		}
	} else {
		out.MaxEntries = 1
	}
	if m.decl == nil {
		return out
	}
	out.Kind, out.Decl = m.decl.Kind.Name, m.decl.Span()
	if out.Kind == "lrupercpuhash" {
		out.Kind = "percpulruhash"
	}
	if m.sort == keyed {
		out.MaxEntries = int(min(entries(m.decl), 1<<30))
	}
	if perCPUKind(out.Kind) != (m.agg != nil) && (m.agg != nil || !m.value.broken) {
		what := "plain values need hash or lruhash"
		if m.agg != nil {
			what = "aggregations need percpuhash or percpulruhash"
		}
		c.ds.Errorf("map-kind-mismatch", m.decl.Kind.Span(),
			"Incompatible map types. Type from declaration: %s. Type from value/key type: %s",
			m.decl.Kind.Name, out.Value).Hint("%s", what)
	}
	return out
}
