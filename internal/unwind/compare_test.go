package unwind

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/object"
)

const compared = `
int g(int *p);
void sink(void *);
int leaf(int n) { return n * 3; }
int f(int n) { int a[100]; for (int i = 0; i < n; i++) a[i % 100] = g(a) + n; return g(a) + a[n % 100]; }
int big(int n) { char b[100000]; sink(b); return b[n]; }
int many(int n) { int x = g(&n), y = g(&x), z = g(&y), w = g(&z), v = g(&w); sink(&n); return x + y + z + w + v + n; }
int grown(int n) { char *p = __builtin_alloca(n); sink(p); return *p; }
int early(int n) { if (n > 3) return n; char b[200]; sink(b); if (b[n]) return 7; sink(b + 1); return b[3]; }
`

// The rules are what readelf says of every row of compiled functions.
func TestAgreesWithReadelf(t *testing.T) {
	for _, prefix := range []string{"", "aarch64-linux-gnu-"} {
		for _, options := range []string{"-O2 -fomit-frame-pointer", "-O2 -fno-omit-frame-pointer",
			"-O0", "-O2 -mbranch-protection=standard"} {
			if prefix == "" && strings.Contains(options, "branch") {
				continue
			}
			t.Run(prefix+"gcc "+options, func(t *testing.T) { compareRules(t, prefix, strings.Fields(options)) })
		}
	}
}

func compareRules(t *testing.T, prefix string, options []string) {
	for _, tool := range []string{"gcc", "readelf"} {
		if _, err := exec.LookPath(prefix + tool); err != nil {
			t.Skip(err)
		}
	}
	dir := t.TempDir()
	src, lib := filepath.Join(dir, "x.c"), filepath.Join(dir, "x.so")
	if err := os.WriteFile(src, []byte(compared), 0o644); err != nil {
		t.Fatal(err)
	}
	args := append(options, "-fasynchronous-unwind-tables", "-nostdlib", "-shared", "-fPIC", "-o", lib, src)
	if out, err := exec.Command(prefix+"gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	text, err := exec.Command(prefix+"readelf", "--debug-dump=frames-interp", "--wide", lib).Output()
	if err != nil {
		t.Fatal(err)
	}
	f, err := exe.Open(lib)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table, err := NewTable(f)
	if err != nil {
		t.Fatal(err)
	}
	link := machines[f.Machine].link
	rows := 0
	var columns []string
	function := false
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) == 0:
		case strings.Contains(lines.Text(), "CIE"), strings.Contains(lines.Text(), "FDE"):
			function = strings.Contains(lines.Text(), "FDE")
		case fields[0] == "LOC":
			columns = fields[1:]
		case function && len(fields) == len(columns)+1:
			addr, err := strconv.ParseUint(fields[0], 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			row := map[string]string{}
			for i, c := range columns {
				row[c] = fields[i+1]
			}
			if row["CFA"] == "exp" {
				continue // the linkage table
			}
			rows++
			if got, want := table.Rule(addr), expected(t, row, link); got != want {
				t.Errorf("at %#x, where readelf says %s: %s, want %s", addr, lines.Text(),
					describe(got), describe(want))
			}
		}
	}
	if rows < 20 {
		t.Errorf("readelf shows %d rows:\n%s", rows, text)
	}
}

func describe(r object.Rule) string {
	return fmt.Sprintf("kind %d, %d, %d", r.Kind(), r>>object.RuleCFAShift&object.RuleMost,
		r>>object.RuleFPShift&object.RuleMost)
}

// expected is the rule for a row of readelf's.
func expected(t *testing.T, row map[string]string, link bool) object.Rule {
	reg, off, ok := strings.Cut(row["CFA"], "+")
	cfa, err := strconv.Atoi(off)
	if !ok || err != nil {
		t.Fatalf("CFA is %q", row["CFA"])
	}
	// place is how many words below the CFA something was saved.
	place := func(name string) int {
		n, err := strconv.Atoi(strings.TrimPrefix(row[name], "c-"))
		if err != nil {
			return 0
		}
		return n / 8
	}
	kind := object.RuleSP
	if reg != "sp" && reg != "rsp" {
		kind = object.RuleFP
	}
	fp := place("rbp")
	if link {
		if fp = place("x29"); fp == 0 && place("ra") > 0 {
			return object.NewRule(kind+object.RuleSPLink-object.RuleSP, cfa/8, place("ra"))
		}
	}
	return object.NewRule(kind, cfa/8, fp)
}
