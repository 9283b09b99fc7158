package probe

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hawktrace/hawk/internal/arch"
	"github.com/hawktrace/hawk/internal/machine"
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
		{types.Func{Result: types.Void, Params: params(types.Int32), More: true}, "takes a variable number of arguments"},
		{types.Func{Result: of(types.UnionKind, 8)}, "returns a struct or union by value"},
		{types.Func{Result: types.Void, Params: params(of(types.UnionKind, 8))}, "takes a struct or union of 8 bytes by value"},
		{types.Func{Result: types.Void, Params: params(of(types.StructKind, 24))}, "takes a struct or union of 24 bytes by value"},
		{types.Func{Result: types.Void, Params: params(of(types.StructKind, 16), of(types.StructKind, 16), of(types.StructKind, 16), types.Int64)},
			"takes 7 words of arguments, more than the 6 that programs can be given"},
	} {
		if got := unsuited(&tt.f, 6); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.f, got, tt.want)
		}
	}
}

func TestRemoved(t *testing.T) {
	for name, want := range map[string]bool{"asyncwatchpoint": true, "AsyncWatchpoint": true, "aw": true, "AW": false, "watchpoint": false, "": false} {
		if got := Removed(name); (got != "") != want {
			t.Errorf("Removed(%q) = %q", name, got)
		}
	}
}

// TestListSideBySide: the order is that of the points, and an error ends it.
func TestListSideBySide(t *testing.T) {
	k := &Kind{Name: "k", CanonicalName: func(p *Point) string { return p.Func }}
	k.Describe = func(p *Point, _ *Options) ([]string, error) {
		if p.Func == "bad" {
			return nil, fmt.Errorf("%s cannot be described", p.Func)
		}
		return []string{"int " + p.Func}, nil
	}
	var points []*Point
	var want, got []string
	for i := range 1000 {
		name := fmt.Sprintf("f%d", i)
		points, want = append(points, &Point{Kind: k, Func: name}), append(want, name+" int "+name)
	}
	emit := func(l Listed) { got = append(got, l.Name+" "+l.Args[0]) }
	if err := listSideBySide(points, &Options{Verbose: true}, emit); err != nil || !slices.Equal(got, want) {
		t.Errorf("%d points are listed as %d, error %v", len(want), len(got), err)
	}
	points[500] = &Point{Kind: k, Func: "bad"}
	if err := listSideBySide(points, &Options{Verbose: true}, emit); err == nil || err.Error() != "bad cannot be described" {
		t.Errorf("error %v", err)
	}
}

// A BPF program of the same name may be another one on another machine.
func TestProgramResultPortable(t *testing.T) {
	p := &Point{Target: onBPF, Func: "f", Extra: bpfFunc{proto: &types.Func{Result: types.Int32}}}
	portable, _ := machine.Host().ForOthers(arch.AMD64, "")
	if typ, err := fexitRetval(p, &Options{Machine: portable}); err == nil {
		t.Errorf("what runs elsewhere reads a result of type %s", typ)
	}
	if typ, err := fexitRetval(p, &Options{Machine: machine.Recorded(t.TempDir())}); err != nil || typ != types.Int32 {
		t.Errorf("%v, %v", typ, err)
	}
}
