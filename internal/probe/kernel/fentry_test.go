package kernel

import (
	"testing"

	"github.com/hawktrace/hawk/internal/arch"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/types"
)

func TestUnsuited(t *testing.T) {
	of := func(kind types.Kind, bytes int) *types.Struct { return types.NewStruct(kind, "s", bytes, 8, nil) }
	params := func(all ...types.Type) (out []types.Param) {
		for _, p := range all {
			out = append(out, types.Param{Type: p})
		}
		return out
	}
	for _, tt := range []struct {
		f    types.Func
		want string
	}{
		{types.Func{Result: types.Void}, ""},
		{types.Func{Result: types.Int64, Params: params(types.Int32, of(types.StructKind, 16), types.Uint64)}, ""},
		{types.Func{Result: types.Void, Params: params(types.Int32), More: true},
			"takes a variable number of arguments"},
		{types.Func{Result: of(types.UnionKind, 8)}, "returns a struct or union by value"},
		{types.Func{Result: types.Void, Params: params(of(types.UnionKind, 8))},
			"takes a struct or union of 8 bytes by value"},
		{types.Func{Result: types.Void, Params: params(of(types.StructKind, 24))},
			"takes a struct or union of 24 bytes by value"},
		{types.Func{Result: types.Void, Params: params(of(types.StructKind, 16), of(types.StructKind, 16),
			of(types.StructKind, 16), types.Int64)},
			"takes 7 words of arguments, more than the 6 that programs can be given"},
	} {
		if got := unsuited(&tt.f, 6); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.f, got, tt.want)
		}
	}
}

// A BPF program of the same name may be another one on another machine.
func TestProgramResultPortable(t *testing.T) {
	p := &probe.Point{Target: onBPF, Func: "f", BPF: &probe.BPFFunc{Proto: &types.Func{Result: types.Int32}}}
	portable, _ := machine.Host().ForOthers(arch.AMD64, "")
	if typ, err := fexitRetval(p, &probe.Options{Machine: portable}); err == nil {
		t.Errorf("what runs elsewhere reads a result of type %s", typ)
	}
	if typ, err := fexitRetval(p, &probe.Options{Machine: machine.Recorded(t.TempDir())}); err != nil ||
		typ != types.Int32 {
		t.Errorf("%v, %v", typ, err)
	}
}
