package ir

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const sample = `prog "p"

func "main" params 1 {
	object o0 "key" size 8 align 8
	object o1 "a b" size 64 align 8 stack at 64
	object o2 "window" size 16 align 8 far
b0:
	v0 = param.ptr 0
	v1 = load.u32 v0+16
	v2 = load.s16 v0-2
	v3 = const -5
	v4 = add v1, v3
	v5 = addr o0+0
	store.64 v5+0, v4
	v7 = map 2
	v8 = call.ptr 1(v7, v5)
	v9 = const 0
	v10 = ne v8, v9
	if v10, b1, b2
b1: body ; preds b0
	zero v8+8, 56
	v11 = addr o1+0
	copy v11+0, v8, 64
	xadd.64 v8+0, v4
	v12 = cmpxchg.64 v8+8, v3, v4
	v13 = func "cb"
	v14 = call "bpf_loop" 181(v4, v13, v11, v9)
	v15 = kfunc "bpf_strlen" 77(v8)
	v16 = ext.s8 v15
	v17 = bswap.32 v16
	call 2(v7, v5, v5, v9)
	jump b2
b2: cold ; preds b1 b0
	v18 = phi v17, v1
	v19 = data 64
	v20 = load.ptr v19+0
	jump b3
b3: ; preds b2 b3
	v21 = phi.ptr v20, v22
	v22 = add.ptr v21, v18
	maygoto b3, b4
b4: ; preds b3
	ret v18
}

static func "cb" params 2 {
b0:
	v0 = param 0
	ret v0
}
`

func TestRoundTrip(t *testing.T) {
	p, err := Parse(sample)
	if err != nil {
		t.Fatal(err)
	}
	if err := Verify(p); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample, p.String()); diff != "" {
		t.Fatal(diff)
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"fnord", "want prog or func"},
		{"func \"f\" params 6 {", "out of range"},
		{"func \"f\" params 0 {\n}", "without blocks"},
		{"func \"f\" params 0 {\nb0:\n", "missing }"},
		{"func \"f\" params 0 {\nb0:\njump b1\n}", "no block b1"},
		{"func \"f\" params 0 {\nb0:\nret v1\n}", "no value v1"},
		{"func \"f\" params 0 {\nb0:\nv1 = frob 1\nret\n}", "no operation"},
		{"func \"f\" params 0 {\nb0:\nv1 = load.u7 v0\nret\n}", "bad width"},
		{"func \"f\" params 0 {\nb0:\nret\nv1 = const 1\n}", "after the end"},
		{"func \"f\" params 0 {\nb0:\nv1 = func \"g\"\nret\n}", "no function"},
	} {
		if _, err := Parse(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Parse(%q) = %v, want %q", c.text, err, c.want)
		}
	}
}

func TestVerifyErrors(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"v4 = add v1, v3", "v4 = add v1, v17", "before its definition"},
		{"v18 = phi v17, v1", "v18 = phi v17", "phi arguments"},
		{"v5 = addr o0+0", "v5 = addr o0+9", "byte 9 of 8"},
		{"v4 = add v1, v3", "v4 = add v1", "with 1 arguments"},
		{"zero v8+8, 56", "zero v15+8, 56", "no pointer"},
		{"static func \"cb\"", "func \"cb\"", "static"},
		{"v17 = bswap.32 v16", "v17 = bswap.8 v16", "of 1 bytes"},
		{"v0 = param 0", "v0 = param 2", "parameter 2 of 2"},
		{"if v10, b1, b2", "jump b1", "predecessors"},
	} {
		text := strings.Replace(sample, c.old, c.new, 1)
		p, err := Parse(text)
		if err == nil {
			err = Verify(p)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.new, err, c.want)
		}
	}
}

func TestDominators(t *testing.T) {
	p, err := Parse(sample)
	if err != nil {
		t.Fatal(err)
	}
	f := p.Funcs[0]
	dom := f.Dominators()
	b := f.Blocks
	for _, c := range []struct {
		x, y int
		want bool
	}{{0, 0, true}, {0, 4, true}, {1, 2, false}, {2, 3, true}, {3, 2, false}, {3, 4, true}} {
		if got := dom.Dominates(b[c.x], b[c.y]); got != c.want {
			t.Errorf("b%d dominates b%d: %v", c.x, c.y, got)
		}
	}
}

func TestSplitAndRemove(t *testing.T) {
	p, err := Parse(sample)
	if err != nil {
		t.Fatal(err)
	}
	f := p.Funcs[0]
	f.Blocks[1].SplitBefore(3)
	if err := Verify(p); err != nil {
		t.Fatalf("%v\n%s", err, p)
	}
	f.Blocks[0].RemoveSucc(0)
	if !f.RemoveUnreachable() {
		t.Error("nothing was unreachable")
	}
	if err := Verify(p); err != nil {
		t.Fatalf("%v\n%s", err, p)
	}
	for _, b := range f.Blocks {
		if b.ID == 1 {
			t.Error("b1 is still there")
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sample)
	f.Add("func \"f\" params 0 {\nb0:\n\tv0 = phi v0\n\tif v0, b0, b0\n}\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text)
		if err != nil || Verify(p) != nil {
			return
		}
		once := p.String()
		q, err := Parse(once)
		if err != nil {
			t.Fatalf("%v\n%s", err, once)
		}
		if again := q.String(); again != once {
			t.Fatal(cmp.Diff(once, again))
		}
	})
}
