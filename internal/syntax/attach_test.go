package syntax

import (
	"errors"
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/source"
)

func TestSplitAttach(t *testing.T) {
	params := Params{Positional: []string{"IN", "i:ms:5", `a"b:c"d`, "$1", "x@y"}}
	params.Option = func(name string) (string, error) {
		text, ok := map[string]string{"every": "s:5", "lib": "/lib/c.so", "lib-debug": "/lib/d.so", "none": ""}[name]
		if !ok {
			return "", errors.New("no option " + name)
		}
		return text, nil
	}
	// Parts are joined by '|', quoted ones marked by a leading '~'.
	tests := []struct{ text, want string }{
		{"begin", "begin"},
		{"kprobe:vfs_read", "kprobe|vfs_read"},
		{"kprobe:ext4:f+0x10", "kprobe|ext4|f+0x10"},
		{"i:s:", "i|s|"},
		{"", ""},
		{"uprobe:/bin/app@t.c:10:3", "uprobe|/bin/app|@|t.c|10|3"},
		{`usdt:./a:prov:"\"odd\""`, `usdt|./a|prov|~"odd"`},
		{`uprobe:"/a b:c":"f(int, char)@x{$1}"`, "uprobe|~/a b:c|~f(int, char)@x{$1}"},
		{`uprobe:/x:"fn"+4`, "uprobe|/x|~fn+4"},
		{`k:a\:b`, `k|a\|b`},
		{"BEG$1", "BEGIN"},
		{"$2", "i|ms|5"},
		{"k:$9x", "k|x"},
		{"u:$3:$4", "u|~ab:cd|$1"},
		{"u:$5", "u|x|@|y"},
		{"warmup=interval:s:1", "warmup = interval|s|1"},
		{"a=b=k:f", "a = b=k|f"},
		{"k=:f", "k=|f"},
		{`"a=b":f`, "~a=b|f"},
		{"k:a=b", "k|a=b"},
		{"k:$0", "error bad-parameter"},
		{"k:$01", "error bad-parameter"},
		{"k:$x", "error bad-parameter"},
		{"i:$every", "i|s|5"},
		{"u:$lib:f", "u|/lib/c.so|f"},
		{"u:$lib-debug:f", "u|/lib/d.so|f"},
		{"u:$lib-x:f", "u|/lib/c.so-x|f"},
		{"u:$none:f", "u||f"},
		{`u:"$lib":f`, "u|~$lib|f"},
		{"k:$", "error bad-parameter"},
		{"k:$99999999999999999999", "error bad-parameter"},
		{`k:"open`, "error unterminated-string"},
	}
	for _, tt := range tests {
		a, d := SplitAttach(tt.text, source.Span{}, params)
		if got := attachText(a, d); got != tt.want {
			t.Errorf("SplitAttach(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
}

func attachText(a Attach, d *source.Diagnostic) string {
	if d != nil {
		return "error " + string(d.Code)
	}
	var parts []string
	for _, p := range a.Parts {
		text := p.Text
		if p.Quoted {
			text = "~" + text
		}
		parts = append(parts, text)
	}
	text := strings.Join(parts, "|")
	if a.Name != "" {
		text = a.Name + " = " + text
	}
	return text
}

func TestPart(t *testing.T) {
	a, d := SplitAttach(`u:"operator+*"+8:"f["x*`, source.Span{}, Params{})
	if d != nil {
		t.Fatal(d.Msg)
	}
	p := a.Parts[1]
	i := p.LastIndex('+')
	if p.Text != "operator+*+8" || i != 10 {
		t.Errorf("LastIndex in %q = %d, want 10", p.Text, i)
	}
	if p.HasWildcard() || !a.Parts[2].HasWildcard() {
		t.Error("a quoted '*' is no wildcard, an unquoted one is")
	}
	if head, tail := p.Slice(0, i), p.Slice(i, len(p.Text)); !head.Quoted || tail.Quoted {
		t.Error("Slice must keep what is quoted")
	}
}

// TestAttachText checks where an attach point ends in a script.
func TestAttachText(t *testing.T) {
	tests := []struct{ text, want string }{
		{"begin/1/{}", "begin"},
		{"begin{}", "begin"},
		{"k:a,k:b{}", "k:a k:b"},
		{"k:a , k:b , {}", "k:a k:b"},
		{"begin,,end{}", "begin end"},
		{"u:/bin/x:f /1/ {}", "u:/bin/x:f"},
		{`u:/x:"a b,{c}" {}`, `u:/x:"a b,{c}"`},
		{`u:/x:"a\"b"{}`, `u:/x:"a\"b"`},
		{"begin//c\n{}", "begin"},
		{"begin/*c*/{}", "begin"},
		{"$1{}", "$1"},
		{"*:f{}", "*:f"},
		{"k*:f?[ab]{}", "k*:f?[ab]"},
		{"config:x{}", "config:x"},
		{"structure:x{}", "structure:x"},
		{"struct:x{}", "struct:x"},
		{"fn*:x{}", "fn*:x"},
		{"\tk:f\r\n{}", "k:f"},
	}
	for _, tt := range tests {
		var got []string
		for _, at := range parseClean(t, tt.text).Items[0].(*Probe).Attach {
			got = append(got, at.Text)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%q has attach points %q, want %q", tt.text, got, tt.want)
		}
	}
}
