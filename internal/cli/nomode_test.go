package cli

import (
	"testing"

	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/tool"
)

// TestNoMode checks what users read of a tool that this kernel has not the means for.
func TestNoMode(t *testing.T) {
	for _, c := range []struct {
		name, code, msg, hint, want string
	}{
		{"memleak", "kernel", "this kernel can not iterate", "kernels from 5.13 on can; print(@blocks) works on all",
			"memleak: this kernel can not iterate\nHINT: kernels from 5.13 on can"},
		{"memleak", "kernel", "this kernel can not", "", "memleak: this kernel can not"},
		{"memleak", "undefined-map", "Undefined map: @a", "what stores to it is left out", ""},
		{"memleak", "syntax", "wrong", "", ""},
		{"trace", "kernel", "this kernel can not", "", ""},
	} {
		made, _ := tool.Find(c.name)
		var ds source.Diagnostics
		for range 2 {
			ds.Errorf(source.Code(c.code), source.Span{}, "%s", c.msg).Advise(c.hint)
		}
		run := command{settings: settings{tool: made}}
		got := ""
		if err := run.noMode(&ds); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s, %s: %q, want %q", c.name, c.code, got, c.want)
		}
	}
}
