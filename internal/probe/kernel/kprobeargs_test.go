package kernel

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/arch"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/probe/probetest"
	"github.com/hawktrace/hawk/internal/types"
)

func TestCallStruct(t *testing.T) {
	pair := types.NewStruct(types.StructKind, "pair", 16, 8, []types.Field{{Name: "x", Type: types.Int64},
		{Name: "y", Type: types.Int64, Offset: 8}})
	large := types.NewStruct(types.StructKind, "large", 24, 8, []types.Field{{Name: "x", Type: types.Int64}})
	params := []types.Param{{Name: "a", Type: types.Int32}, {Name: "p", Type: pair}, {Name: "l", Type: large},
		{Name: "b", Type: types.Uint8}}
	for _, tt := range []struct {
		arch *arch.Arch
		want string
	}{
		{arch.AMD64, "a int32 0, p struct pair 1, l struct large 6, b uint8 3; 72 bytes"},
		{arch.ARM64, "a int32 0, p struct pair 1, l struct large * 3, b uint8 4; 40 bytes"},
	} {
		s := callStruct("f", params, tt.arch)
		var got []string
		for _, f := range s.Fields() {
			got = append(got, fmt.Sprintf("%s %s %d", f.Name, f.Type, f.Arg))
		}
		if text := fmt.Sprintf("%s; %d bytes", strings.Join(got, ", "), s.Size()); text != tt.want {
			t.Errorf("%s: %s\nwant %s", tt.arch.Name, text, tt.want)
		}
	}
}

// TestKprobeNoArgs: behind the start of a function arguments have moved.
func TestKprobeNoArgs(t *testing.T) {
	o := &probe.Options{Machine: probetest.Recorded(t, "")}
	for _, tt := range []struct{ text, want string }{
		{"k:vfs_read+4", "the start of a function only"}, {"k:notypes", "its arguments have numbers: arg0"},
	} {
		p, err := probetest.Parse(tt.text, o)
		if err == nil {
			_, err = p.Kind.Args(p, o)
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.text, err, tt.want)
		}
	}
}
