package diff

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func folded(t *testing.T, text string) *Profile {
	t.Helper()
	p, err := Parse([]byte(text), "")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestText(t *testing.T) {
	old := folded(t, "main;read 50\nmain;write 30\nmain;stat 20\n")
	now := folded(t, "main;read 50\nmain;write 60\nmain;\x1b]0;x 10\n")
	for _, tt := range []struct {
		normalize bool
		want      string
	}{
		{false, `100 → 120 (+20.0 %)
    CHANGE       OLD       NEW  FUNCTION
   +30.0 %    30.0 %    60.0 %  write
   -20.0 %    20.0 %     0.0 %  stat  gone
   +10.0 %     0.0 %    10.0 %  x  new
`}, {true, `100 → 120 (+0.0 %); both runs weigh the same in all
    CHANGE       OLD       NEW  FUNCTION
   -20.0 %    20.0 %     0.0 %  stat  gone
   +20.0 %    30.0 %    50.0 %  write
    -8.3 %    50.0 %    41.7 %  read
    +8.3 %     0.0 %     8.3 %  x  new
`},
	} {
		d, err := Compare(old, now, tt.normalize)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := d.WriteText(&b, 0); err != nil {
			t.Fatal(err)
		}
		if b.String() != tt.want {
			t.Errorf("got\n%swant\n%s", &b, tt.want)
		}
	}
}

// TestItself has a run differ from itself in nothing, in every form.
func TestItself(t *testing.T) {
	p := folded(t, "main;read 50\nmain;write 30\n")
	d, _ := Compare(p, p, false)
	var text, lines, page strings.Builder
	if err := d.WriteText(&text, 0); err != nil || !strings.HasSuffix(text.String(), "nothing changed\n") {
		t.Errorf("%v\n%s", err, &text)
	}
	if err := d.WriteFolded(&lines); err != nil || lines.String() != "main;read 50 50\nmain;write 30 30\n" {
		t.Errorf("%v\n%s", err, &lines)
	}
	if err := d.WriteFlame(&page, "<b>", "v1"); err != nil || !strings.Contains(page.String(), "&lt;b&gt;") {
		t.Errorf("%v\n%s", err, &page)
	}
	again, err := Parse([]byte(page.String()), "")
	if err != nil || again.Stacks["main\nread"] != 50 || again.Total() != 80 {
		t.Errorf("%v: %v", err, again)
	}
}

func TestCommand(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for file, text := range map[string]string{a: "main;read 10\n", b: "main;read 10\nmain;write 5\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for args, want := range map[string]string{
		a + " " + b:                       "",
		"--fail-above=60 " + a + " " + b:  "",
		"--fail-above 40% " + a + " " + b: "write changed by more",
		a:                                 "two files are compared, not 1",
		"--min x " + a + " " + b:          "invalid value for --min: x",
		"-f svg " + a + " " + b:           "unknown format svg",
		"--frob " + a + " " + b:           "unknown option --frob",
		a + " " + dir + "/none":           "no such file",
	} {
		var c Command
		_, err := c.Args(strings.Fields(args))
		if err == nil {
			err = c.Run(&strings.Builder{}, "v1")
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("main;read 10\n"))
	f.Add([]byte("\x0a\x04\x08\x01\x10\x02\x32\x00"))
	f.Add([]byte(`<!doctype html><script type="application/json" id="data" data-form="json">{"profiles":[]}</script>`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse(data, "")
		if err != nil {
			return
		}
		d, err := Compare(p, p, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.WriteText(&strings.Builder{}, 0); err != nil {
			t.Fatal(err)
		}
	})
}

// A device that never ends is not read for ever.
func TestFileEnds(t *testing.T) {
	_, err := File("/dev/zero")
	if err == nil || !strings.Contains(err.Error(), "/dev/zero: it is larger than 256 MiB") {
		t.Errorf("got %v", err)
	}
}

// Few bytes that stand for more than can be shown are refused.
func TestTooMuch(t *testing.T) {
	deep := strings.Repeat("f;", maxDepth) + "f 1\n"
	var functions, frames strings.Builder
	for i := range maxNames/2 + 1 {
		fmt.Fprintf(&functions, "a%d;b%d 1\n", i, i)
	}
	long := strings.Repeat("f;", maxDepth-2)
	for i := range maxAll/maxDepth + 2 {
		fmt.Fprintf(&frames, "%s%d 1\n", long, i)
	}
	for text, want := range map[string]string{
		deep:               "line 1: it has a stack of more than 4096 frames",
		functions.String(): "its stacks have more than 4194304 frames, or 524288 functions",
		frames.String():    "line 1025: its stacks have more than 4194304 frames",
	} {
		if _, err := Parse([]byte(text), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if p, err := Parse([]byte(strings.Repeat("a;b 1\n", maxNames+1)), ""); err != nil || p.Total() != maxNames+1 {
		t.Errorf("one stack again and again: %v", err)
	}
}
