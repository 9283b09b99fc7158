package unpack

import (
	"bytes"
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

// An Error is a value that has no room where it is to go.
type Error struct {
	Field string // of the destination, "a.b"; "" for all of it
	Value value.Value
	From  types.Type // of the Value
	Type  reflect.Type
	Why   string // "" if the type of Go says it
}

func (e *Error) Error() string {
	text := "cannot decode"
	if e.Value != nil {
		text += " " + e.shown()
	}
	if e.Type != nil {
		text += " into " + e.Type.String()
	}
	if e.Field != "" {
		text += " of field " + e.Field
	}
	if e.Why != "" {
		text += ": " + e.Why
	}
	return text
}

// shown is the value, or of what type it is where that is not one short line.
func (e *Error) shown() string {
	const most = 200
	text := value.AppendText(nil, e.Value)
	_, histogram := e.Value.(value.Hist)
	_, series := e.Value.(value.Series)
	if histogram || series || len(text) > most || bytes.IndexByte(text, '\n') >= 0 {
		return "a value of type " + e.From.String()
	}
	return string(text)
}

// A step stores a value.
type step func(dst reflect.Value, v value.Value) error

// Rules are the types of Go that the caller knows by himself, with how a value of a
// type of the script is stored in them, and what a value is where anything will do.
type Rules struct {
	Special map[reflect.Type]Special
	Any     func(t types.Type, v value.Value) any
	Value   reflect.Type // the caller's own for values of every type, which Wrap makes; nil: none
	Wrap    func(ps *Plans, t types.Type, v value.Value) any
}

// A Special makes a value of its type of Go; false: it cannot be done.
type Special func(t types.Type, v value.Value) (any, bool)

// Plans are the plans that were made, by both types. They may be used by any
// number of goroutines.
type Plans struct {
	rules *Rules
	made  sync.Map // key → *made; of a struct and no type of Go → *membership
	// last was asked for last, and mostly is asked for next: one site, one type.
	last atomic.Pointer[made]
}

// New returns an empty set of plans.
func New(rules *Rules) *Plans { return &Plans{rules: rules} }

// membership is what Members says of a struct: it is gathered through members without names, which
// takes as long as there are many.
type membership struct {
	names []string
	elems []types.Type
}

// Members is Members, remembered for structs.
func (ps *Plans) Members(t types.Type) (names []string, elems []types.Type) {
	s, ok := t.(*types.Struct)
	if !ok || ps == nil {
		return Members(t)
	}
	p, ok := ps.made.Load(key{s, nil})
	if !ok {
		of := new(membership)
		of.names, of.elems = Members(s)
		p, _ = ps.made.LoadOrStore(key{s, nil}, of)
	}
	of := p.(*membership)
	return of.names, of.elems
}

// A key is the two types of a plan.
type key struct {
	from types.Type
	to   reflect.Type
}

// made is a plan that was made.
type made struct {
	key  key
	plan *Plan
}

// A Plan stores values of one type of the script in values of one type of Go.
type Plan struct {
	do  step
	err error
	// Nothing: the struct has none of the names of the record, so that all stays as it is.
	Nothing bool
}

// For is the plan for two types. A type of Go that can never hold such a value has an
// error, as has a record without a field that is required.
func (ps *Plans) For(from types.Type, to reflect.Type) (*Plan, error) {
	k := key{from, to}
	// A look at one word costs less than the map, whose hash goes through both types.
	if m := ps.last.Load(); m != nil && m.key == k {
		return m.plan, m.plan.err
	}
	if m, ok := ps.made.Load(k); ok {
		m := m.(*made)
		ps.last.Store(m)
		return m.plan, m.plan.err
	}
	p := &Plan{}
	pl := planner{rules: ps.rules, plans: ps}
	p.do = pl.plan(from, to, "")
	p.err, p.Nothing = pl.err, pl.nothing
	// Two goroutines may make the same plan at once, of which the later one stays: they are
	// alike.
	ps.made.Store(k, &made{k, p})
	return p, p.err
}

// Into stores a value. What the value lacks stays as it is.
func (p *Plan) Into(dst reflect.Value, v value.Value) error {
	if p.err != nil {
		return p.err
	}
	return p.do(dst, v)
}

// A planner makes one plan.
type planner struct {
	rules   *Rules
	plans   *Plans
	depth   int
	err     error // the first
	nothing bool  // see Plan
}

// maxDepth bounds types of Go that contain themselves.
const maxDepth = 32

// fail notes why there is no plan. What it returns fails too, since a part of a plan cannot know
// whether it is ever reached.
func (pl *planner) fail(field string, to reflect.Type, format string, args ...any) step {
	e := &Error{Field: field, Type: to, Why: fmt.Sprintf(format, args...)}
	if pl.err == nil {
		pl.err = e
	}
	return func(reflect.Value, value.Value) error { return e }
}

// unfit is fail for two types of which nothing more can be said.
func (pl *planner) unfit(from types.Type, to reflect.Type, field string) step {
	return pl.fail(field, to, "values of type %s do not go into it", from)
}

// isNull reports whether nothing is there to be stored: a part that could not be read, or one
// that an older record lacks.
func isNull(v value.Value) bool {
	_, null := v.(value.Null)
	return null || v == nil
}

// plan is how a value is stored. Absent values change nothing.
func (pl *planner) plan(from types.Type, to reflect.Type, field string) step {
	if pl.depth++; pl.depth > maxDepth {
		return pl.fail(field, to, "types are nested more than %d deep", maxDepth)
	}
	defer func() { pl.depth-- }()
	// The plan is made here, once; what is returned runs for each value and must not look at
	// types again.
	do := pl.store(from, to, field)
	return func(dst reflect.Value, v value.Value) error {
		if isNull(v) {
			return nil
		}
		return do(dst, v)
	}
}

// store plans for values that are there, by the type of Go.
func (pl *planner) store(from types.Type, to reflect.Type, field string) step {
	if to == pl.rules.Value {
		return func(dst reflect.Value, v value.Value) error {
			dst.Set(reflect.ValueOf(pl.rules.Wrap(pl.plans, from, v)))
			return nil
		}
	}
	// Bytes are those of an address, too, and need no text of it.
	if isBytes(to) && isByteArray(from) {
		return pl.sequence(from, to, field)
	}
	if special := pl.rules.Special[to]; special != nil {
		if !among(from, text, stack, cell) {
			return pl.unfit(from, to, field)
		}
		return func(dst reflect.Value, v value.Value) error {
			x, ok := special(from, v)
			if !ok {
				return &Error{Field: field, Value: v, From: from, Type: to}
			}
			dst.Set(reflect.ValueOf(x))
			return nil
		}
	}
	if readsText(from, to) {
		return unmarshal(from, to, field)
	}
	switch to.Kind() {
	case reflect.Pointer:
		// Pointers to pointers end by depth: the type of the script does not shrink on the way.
		inner := pl.plan(from, to.Elem(), field)
		return func(dst reflect.Value, v value.Value) error {
			if dst.IsNil() {
				dst.Set(reflect.New(to.Elem()))
			}
			return inner(dst.Elem(), v)
		}
	case reflect.Interface:
		if to.NumMethod() > 0 {
			return pl.fail(field, to, "only any holds a value of every type")
		}
		return func(dst reflect.Value, v value.Value) error {
			// A nil would clear what is there, and reflect.ValueOf of it has no type to be set.
			if x := pl.rules.Any(from, v); x != nil {
				dst.Set(reflect.ValueOf(x))
			}
			return nil
		}
	case reflect.Struct:
		return pl.structure(from, to, field)
	case reflect.Map:
		return pl.mapping(from, to, field)
	case reflect.Slice, reflect.Array:
		return pl.sequence(from, to, field)
	}
	return pl.scalar(from, to, field)
}

// isBytes reports whether a type of Go is a sequence of bytes.
func isBytes(to reflect.Type) bool {
	return to.Kind() == reflect.Slice && to.Elem().Kind() == reflect.Uint8
}

// isByteArray reports whether a type of the script is a sequence of bytes, shown as text or not.
func isByteArray(from types.Type) bool {
	a, ok := from.(*types.Array)
	return ok && a.Elem.Size() == 1
}

// readsText reports whether a type of Go makes itself from the text that values are. An integer
// takes the number of what may have one, as a symbol has its address.
func readsText(from types.Type, to reflect.Type) bool {
	if !reflect.PointerTo(to).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return false
	}
	c := classOf(from)
	return c == text || c == unsure && !to.ConvertibleTo(reflect.TypeFor[uint64]())
}

// unmarshal plans for types that make themselves from text.
func unmarshal(from types.Type, to reflect.Type, field string) step {
	return func(dst reflect.Value, v value.Value) error {
		text, _, _, ok := Text(from, v)
		if !ok {
			text = value.AppendText(nil, v)
		}
		if err := dst.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText(text); err != nil {
			return &Error{Field: field, Value: v, From: from, Type: to, Why: err.Error()}
		}
		return nil
	}
}

// members is Members; ok is false of types without parts.
func members(t types.Type) (names []string, elems []types.Type, ok bool) {
	names, elems = Members(t)
	return names, elems, elems != nil
}

// Members are the types of the parts of a tuple, record or struct, with their names if they have any.
func Members(t types.Type) (names []string, elems []types.Type) {
	switch t := t.(type) {
	case *types.Record:
		return t.Names, t.Elems
	case *types.Tuple:
		return nil, t.Elems
	case *types.Struct:
		structMembers(t, &names, &elems, 0)
	}
	return names, elems
}

// structMembers counts members of anonymous structs as the struct's own, as decoding does.
func structMembers(t *types.Struct, names *[]string, elems *[]types.Type, depth int) {
	// Types of the kernel are finite, those of a malformed file need not be.
	if depth > maxDepth {
		return
	}
	for _, f := range t.Fields() {
		inner, isStruct := f.Type.(*types.Struct)
		switch {
		case f.Name != "":
			*names, *elems = append(*names, f.Name), append(*elems, f.Type)
		case isStruct:
			structMembers(inner, names, elems, depth+1)
		}
	}
}

// Parts are the values of a value that has several.
func Parts(v value.Value) []value.Value {
	switch v := v.(type) {
	case value.Record:
		return v.Values
	case value.Tuple:
		return v
	case value.Array:
		return v
	case value.Chars:
		return v.Elems()
	}
	return nil
}

// join is the path of a field in messages.
func join(outer, name string) string {
	if outer == "" {
		return name
	}
	return outer + "." + name
}

// each plans for parts that all go into one type of Go. Those without names get their positions.
func (pl *planner) each(names []string, elems []types.Type, to reflect.Type, field string) ([]string, []step) {
	if names == nil {
		for i := range elems {
			names = append(names, strconv.Itoa(i))
		}
	}
	steps := make([]step, len(elems))
	for i, e := range elems {
		steps[i] = pl.plan(e, to, join(field, names[i]))
	}
	return names, steps
}

// mapping stores what has names under these, and a tuple under its positions.
func (pl *planner) mapping(from types.Type, to reflect.Type, field string) step {
	names, elems, several := members(from)
	if !several || to.Key().Kind() != reflect.String {
		return pl.unfit(from, to, field)
	}
	names, steps := pl.each(names, elems, to.Elem(), field)
	return func(dst reflect.Value, v value.Value) error {
		if dst.IsNil() {
			dst.Set(reflect.MakeMap(to))
		}
		for i, part := range Parts(v) {
			if i >= len(elems) {
				break
			}
			if isNull(part) {
				continue
			}
			x := reflect.New(to.Elem()).Elem()
			if err := steps[i](x, part); err != nil {
				return err
			}
			// The key may be a string type of the caller's own.
			dst.SetMapIndex(reflect.ValueOf(names[i]).Convert(to.Key()), x)
		}
		return nil
	}
}
