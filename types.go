package hawk

import (
	"slices"

	"github.com/hawktrace/hawk/internal/builtin/show"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

// TypeKind is what a type is. Programs must take unknown ones.
type TypeKind int

// The kinds of type. Texts are symbols, times and addresses, which become text when
// they are shown; aggregations are what count() and its like keep.
const (
	NoType TypeKind = iota
	IntType
	BoolType
	EnumType
	PointerType
	StringType
	BytesType
	ArrayType
	TupleType
	RecordType
	StructType
	StackType
	TextType
	AggregationType

	typeKinds = iota // how many there are
)

// A Type is a type of the language. The zero Type is that of nothing.
type Type struct {
	t    types.Type
	text string // of a type that is known by its name only
}

// String is the name of the type, "uint64".
func (t Type) String() string {
	if t.t == nil {
		return t.text
	}
	return t.t.String()
}

// MarshalText is the name of the type.
func (t Type) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// Kind is what the type is.
func (t Type) Kind() TypeKind {
	switch t := t.t.(type) {
	case *types.Int:
		return IntType
	case *types.Enum:
		return EnumType
	case *types.Pointer:
		return PointerType
	case *types.String:
		return StringType
	case *types.Buffer:
		return BytesType
	case *types.Array:
		return ArrayType
	case *types.Record:
		return RecordType
	case *types.Tuple:
		return TupleType
	case *types.Struct:
		return StructType
	case *types.Stack:
		return StackType
	case *types.Deferred:
		return TextType
	case *types.Agg:
		return AggregationType
	default:
		if t == types.Bool {
			return BoolType
		}
	}
	return NoType
}

// Size is how many bytes a value has in memory. 0: that is not known.
func (t Type) Size() int {
	if t.t == nil {
		return 0
	}
	return t.t.Size()
}

// Signed reports whether an integer, an enumeration or an aggregation is signed.
func (t Type) Signed() bool {
	switch t := t.t.(type) {
	case *types.Int:
		return t.Signed
	case *types.Enum:
		return t.Signed
	case *types.Agg:
		return t.Signed
	}
	return false
}

// Fields are the parts of a tuple, a record or a struct, in order. Those of a tuple
// have no names.
func (t Type) Fields() []Field {
	var out []Field
	switch t := t.t.(type) {
	case *types.Record:
		for i, e := range t.Elems {
			out = append(out, Field{t.Names[i], Type{t: e}})
		}
	case *types.Tuple:
		for _, e := range t.Elems {
			out = append(out, Field{"", Type{t: e}})
		}
	case *types.Struct:
		for _, f := range t.Fields() {
			out = append(out, Field{f.Name, Type{t: f.Type}})
		}
	}
	return out
}

// A Field is a part of a value with a name.
type Field struct {
	Name string
	Type Type
}

// MapInfo is what is known of a map before it has anything in it.
type MapInfo struct {
	Name  string  // with @
	Keys  []Field // none of a scalar
	Value Type
	Agg   string // "", "count", "hist" …

	key types.Type // all of it; nil of a scalar
}

// Maps are the maps of the script, by name.
func (p *Program) Maps() []MapInfo {
	var out []MapInfo
	res := p.parts()
	if o := res.Object; o != nil {
		for _, m := range o.Scripts {
			out = append(out, mapInfo(m.Name, m.Key, m.Value, m.Agg))
		}
		return out
	}
	for _, m := range res.Checked.Maps {
		agg, _ := m.Value.(*types.Agg)
		out = append(out, mapInfo(m.Name, m.Key, m.Value, agg))
	}
	return out
}

func mapInfo(name string, key, val types.Type, agg *types.Agg) MapInfo {
	i := MapInfo{Name: name, Value: Type{t: val}, key: key}
	if agg != nil {
		i.Agg, i.Value = agg.Kind, Type{t: agg}
	}
	if key != nil {
		if i.Keys = (Type{t: key}).Fields(); i.Keys == nil {
			i.Keys = []Field{{"", Type{t: key}}}
		}
	}
	return i
}

// PrintInfo is a place of the script that prints a value, and the value's fields. A value
// without any is one field itself.
type PrintInfo struct {
	Site   Position
	Fields []Field
}

// Prints are the places that print values.
func (p *Program) Prints() []PrintInfo {
	var out []PrintInfo
	add := func(at source.Span, t types.Type) {
		fields := (Type{t: t}).Fields()
		if fields == nil {
			fields = []Field{{"", Type{t: t}}}
		}
		// A script has a program, and an event, for each attach point that a place is compiled for.
		alike := func(a, b Field) bool { return a.Name == b.Name && a.Type.String() == b.Type.String() }
		info := PrintInfo{span(at).Start, fields}
		if !slices.ContainsFunc(out, func(old PrintInfo) bool {
			return old.Site == info.Site && slices.EqualFunc(old.Fields, fields, alike)
		}) {
			out = append(out, info)
		}
	}
	res := p.parts()
	if res.Object == nil {
		for _, pr := range res.Checked.Probes {
			for _, call := range pr.Info.CallsInOrder() {
				if t := show.PrintedType(call); t != nil {
					add(call.Expr.Span(), t)
				}
			}
		}
		return out
	}
	for _, ev := range res.Object.Events {
		if show.PrintsValue(ev) {
			add(ev.At, ev.Args[0].Type)
		}
	}
	return out
}

// Probes are the attach points of the script, after patterns were matched.
func (p *Program) Probes() []Probe {
	var out []Probe
	for _, g := range p.groups {
		for _, pt := range g.Points {
			out = append(out, Probe{Name: pt.Name, Kind: g.Kind, Target: pt.Target, Func: pt.Func,
				Semaphore: pt.Semaphore, Locations: pt.Locations})
		}
	}
	add := func(points []*probe.Point) {
		for _, pt := range points {
			q := Probe{Name: pt.Name(), Kind: pt.Kind.Name, Target: pt.Target, Func: pt.Func}
			q.Locations, q.Semaphore = pt.Marks()
			out = append(out, q)
		}
	}
	switch res := p.parts(); {
	case p.payload != nil:
	case res.Checked != nil:
		for _, pr := range res.Checked.Probes {
			add(pr.Points)
		}
	default:
		for _, pr := range res.Object.Programs {
			add(pr.Group.Points)
		}
	}
	return out
}

// An Option is a named parameter of the script.
type Option struct {
	Name, Default, Doc string
	Type               Type
}

// Options are the named parameters that the script declares.
func (p *Program) Options() []Option {
	var out []Option
	for _, o := range p.options() {
		v := Value{t: o.Type, v: value.Decode(o.Type, o.Default, nil)}
		out = append(out, Option{o.Name, v.String(), o.Doc, Type{t: o.Type}})
	}
	return out
}

// options are those that the script declares.
func (p *Program) options() []*object.Option {
	res := p.parts()
	if res.Object == nil {
		return res.Checked.Declared
	}
	return res.Object.Options
}

// Mechanisms are the ways by which the programs attach, one for each: "uprobe.multi",
// "raw tracepoint".
func (p *Program) Mechanisms() []string {
	var out []string
	for _, g := range p.groups {
		out = append(out, g.Mechanism.Name())
	}
	res := p.parts()
	if res.Object == nil {
		return out
	}
	for _, pr := range res.Object.Programs {
		out = append(out, pr.Group.Mech().Name)
	}
	return out
}
