package view

import (
	"strings"
	"testing"
)

func TestCalled(t *testing.T) {
	long := "kprobe:vfs_read { @ = count(); } " + strings.Repeat("é", 1000)
	for _, tt := range []struct {
		script Script
		want   string
	}{
		{Script{Name: "reads.bt", Text: long}, "reads.bt"},
		{Script{Name: "reads.bt", Title: "Reads", Text: long}, "Reads"},
		{Script{Name: "stdin", Title: "Reads"}, "Reads"},
		{Script{Name: "stdin", Text: "begin {\n\t@ = 1;\n}\n"}, "begin { @ = 1; }"},
		{Script{Name: "stdin", Text: long}, "kprobe:vfs_read { @ = count(); } éééééééééééééé…"},
		{Script{Name: "stdin", Text: " \n"}, "stdin"},
	} {
		if got := tt.script.Called(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
