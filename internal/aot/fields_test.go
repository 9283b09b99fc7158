package aot

import (
	"reflect"
	"testing"

	"github.com/cilium/ebpf/asm"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/codegen"
	"github.com/hawktrace/hawk/internal/config"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/types"
)

// fill gives every field a value that is not its zero.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("x")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Pointer:
		if v.Type() != reflect.TypeFor[*source.Expansion]() {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem())
		}
	case reflect.Interface:
		if v.Type() == reflect.TypeFor[types.Type]() {
			v.Set(reflect.ValueOf(types.Int32))
		}
	case reflect.Struct:
		switch v.Type() {
		case reflect.TypeFor[source.Span]():
			v.Set(reflect.ValueOf(source.Span{File: source.NewFile("in.bt", "text"), Start: 1, End: 3}))
			return
		case reflect.TypeFor[asm.Instruction]():
			v.Set(reflect.ValueOf(asm.Instruction{OpCode: asm.LoadImmOp(asm.DWord), Dst: 1, Src: 2,
				Offset: -3, Constant: -1 << 40}))
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i))
			}
		}
	}
}

// round writes a value and reads it into an empty one.
func round[T any](t *testing.T, v *T, do func(c *codec, v *T), ignore ...cmp.Option) {
	t.Helper()
	fill(reflect.ValueOf(v).Elem())
	w := new(codec)
	do(w, v)
	r := &codec{b: w.b, reading: true}
	got := new(T)
	do(r, got)
	if w.err != nil || r.err != nil || len(r.b) > 0 {
		t.Fatalf("%T: %v, %v, %d bytes left over", v, w.err, r.err, len(r.b))
	}
	hidden := cmp.FilterPath(func(p cmp.Path) bool {
		f, ok := p.Last().(cmp.StructField)
		return ok && f.Name()[0] >= 'a' && f.Name()[0] <= 'z' && f.Name() != "object" &&
			f.Name() != "programs" && f.Name() != "group"
	}, cmp.Ignore())
	if d := cmp.Diff(v, got, append(ignore, hidden, cmp.AllowUnexported(Variant{}, program{}))...); d != "" {
		t.Errorf("%T: what is read is not what was written:\n%s", v, d)
	}
}

// Every field of what is kept is kept, those of tomorrow included, or it is said here why not.
func TestFields(t *testing.T) {
	round(t, new(config.Config), (*codec).config, cmpopts.IgnoreFields(config.Config{}, "Unstable")) // the compiler's
	round(t, new(machine.Fact), (*codec).fact)
	round(t, new(probe.Stored), (*codec).stored)
	round(t, new(codegen.Code), (*codec).code)
	round(t, new(object.Event), (*codec).event, cmpopts.IgnoreFields(object.Event{}, "Format")) // worked out again
	round(t, &program{}, (*codec).program, cmpopts.IgnoreFields(object.Program{}, "Group"))     // found again
	for _, typ := range []types.Type{
		&types.String{}, &types.Buffer{}, &types.Pointer{}, &types.Array{}, &types.Enum{},
		&types.Stack{}, &types.Deferred{}, &types.Agg{},
	} {
		fill(reflect.ValueOf(typ).Elem())
		round(t, &holder{}, func(c *codec, h *holder) {
			if !c.reading {
				h.Type = typ
			}
			c.typ(&h.Type)
		})
	}
	round(t, &holder{}, func(c *codec, h *holder) {
		if !c.reading {
			s := &types.Struct{}
			fill(reflect.ValueOf(s).Elem())
			s.Bytes = 16
			h.Type = types.NewStruct(s.Kind, s.Name, s.Bytes, s.Algn,
				[]types.Field{{Name: "f", Type: types.Int32, Offset: 4, BitOffset: 1, BitSize: 3,
					DataLoc: types.DataLocAbs, Arg: 2}})
			h.Type.(*types.Struct).C = s.C
		}
		c.typ(&h.Type)
	}, cmp.Comparer(sameStruct))
	// The rest of a variant, without what refers to other parts of it.
	round(t, new(Variant), func(c *codec, v *Variant) {
		if !c.reading {
			fill(reflect.ValueOf(&v.object).Elem())
			v.object.Programs, v.object.Strings = nil, []string{"x"}
			// Two maps for the script's, one of short keys, and one that holds them in turn.
			for range object.ScratchMap + 3 {
				v.object.Maps = append(v.object.Maps, &object.Map{Name: "m", Type: bpf.Hash})
			}
			outer := len(v.object.Maps) - 1
			v.object.Maps[outer].Type, v.object.Maps[outer].Inner = bpf.ArrayOfMaps, outer-1
			v.object.Maps[outer-1].KeySize, v.object.Maps[outer-2].KeySize = 16, 8 // and one of short keys
			for _, s := range v.object.Scripts {
				s.Value, s.Agg, s.Map, s.Short = types.Int32, nil, outer-1, outer-2
				s.Turns.Outer = outer
			}
			v.object.Data = object.Data{Bytes: 4096, Init: []byte{1}, CPUSlots: 2}
			for _, e := range v.object.Events {
				e.Builtin, e.Format = "printf", nil
			}
		}
		c.variant(v)
	})
}

type holder struct{ Type types.Type }

func sameStruct(a, b *types.Struct) bool {
	return a.Kind == b.Kind && a.Name == b.Name && a.Size() == b.Size() && a.Align() == b.Align() &&
		a.C == b.C && cmp.Equal(a.Fields(), b.Fields())
}
