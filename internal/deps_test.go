package internal_test

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// order lists the packages from the ones that know least to the ones that know
// most; a package imports only packages of earlier lines, or of its own line
// those before it.
const order = `
	order spell errno source cursor insn markdown pack pack/packtest
	types arch
	syntax stdlib
	cdef
	config
	bpf btf proc foreign exe dwarf machine cgroup
	ir ir/eval ir/irgen operator
	probe attach probe/user probe/kernel probe/perf probe/kinds probe/probetest
	regalloc opt codegen
	value unpack feed
	view view/history
	export saved
	object
	output outfile tool unit notation strace
	builtin builtin/kernel builtin/show builtin/table
	aot
	expand check policy view/derive
	lower compile compile/dump
	symbolize unwind load keeper origin session/child session/progress session/ring session
	serve
	ui/live reference ui/live/livetest ui/glyph ui/tty ui/plain ui/term ui/listen ui/web diff
	cli
	hawktest/browser hawktest/collect hawktest/deb hawktest/files hawktest/remains hawktest/vm/wire hawktest/vm hawktest hawktest/vm/agent hawktest/vm/hawkvm
	hawktest/scriptgen hawktest/interp hawktest/corpus hawktest/bound
`

// public is the library, which is made of what is below and used by these only.
const public = "github.com/hawktrace/hawk"

var users = []string{"cli", "serve", "agent", "lsp"}

func TestImports(t *testing.T) {
	const prefix = "github.com/hawktrace/hawk/internal/"
	rank := map[string]int{}
	for i, name := range strings.Fields(order) {
		rank[name] = i
	}
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}}: {{join .Imports \" \"}}", "./...").CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		pkg, imports, _ := strings.Cut(strings.TrimSpace(line), ":")
		if slices.Contains(strings.Fields(imports), public) &&
			!slices.Contains(users, strings.TrimPrefix(pkg, prefix)) {
			t.Errorf("%s imports the library, which is for %s", pkg, users)
		}
		name, ok := strings.CutPrefix(pkg, prefix)
		if !ok {
			continue
		}
		at, known := rank[name]
		if !known {
			t.Errorf("%s is not in the order of packages", name)
			continue
		}
		for imp := range strings.FieldsSeq(imports) {
			dep, ok := strings.CutPrefix(imp, prefix)
			if !ok {
				continue
			}
			if of, known := rank[dep]; !known || of > at {
				t.Errorf("%s imports %s, which does not come before it", name, dep)
			}
		}
	}
}

// files is how many files of code a package has at most. One with more is several.
const files = 30

func TestSmallPackages(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", "{{len .GoFiles}} {{len .IgnoredGoFiles}} {{.ImportPath}}",
		"../...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		var n, elsewhere int
		var name string
		if _, err := fmt.Sscan(line, &n, &elsewhere, &name); err != nil {
			t.Fatal(err)
		}
		if n+elsewhere > files {
			t.Errorf("%s has %d files, %d at most: give what belongs together a room of its own", name,
				n+elsewhere, files)
		}
	}
}

// Package usdt is for any program: it imports nothing but the standard library,
// and of that nothing that reads or compresses files.
func TestUSDT(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}",
		"../usdt").CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	if got := strings.TrimSpace(string(out)); got != "github.com/hawktrace/hawk/usdt" {
		t.Errorf("usdt is built of\n%s", got)
	}
	out, err = exec.Command("go", "list", "-deps", "../usdt").CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	for pkg := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(pkg, "debug/") || strings.HasPrefix(pkg, "compress/") || strings.HasPrefix(pkg, "net") {
			t.Errorf("usdt brings %s into every program", pkg)
		}
	}
}
