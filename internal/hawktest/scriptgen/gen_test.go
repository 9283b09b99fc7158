package scriptgen_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/hawktest/scriptgen"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
)

// seeds is how many scripts the tests look at.
const seeds = 600

// TestParses: a script is the same whenever it is made up, and has no syntax errors.
func TestParses(t *testing.T) {
	for seed := range uint64(seeds) {
		text := scriptgen.Generate(seed, scriptgen.Kernel{}).String()
		if again := scriptgen.Generate(seed, scriptgen.Kernel{}).String(); again != text {
			t.Fatalf("seed %d makes up two scripts", seed)
		}
		if _, ds := syntax.Parse(source.NewFile("stdin", text)); ds.HasErrors() {
			var b strings.Builder
			ds.Print(&b, source.PrintOptions{})
			t.Fatalf("seed %d:\n%s\n%s", seed, text, b.String())
		}
	}
}

// TestCovers: whatever scripts are compared for occurs in some of them.
func TestCovers(t *testing.T) {
	var all strings.Builder
	for seed := range uint64(seeds) {
		all.WriteString(scriptgen.Generate(seed, scriptgen.Kernel{}).String())
	}
	for _, form := range []string{
		`(?m)^macro r\d\(`, `macro r\d\([^)]*\$p`, `macro r\d\([^)]*@p`, `typeof\(`, `(?m)^fn r\d\(`,
		`[^ ]r\d\(`, `return [^;]`,
		`for \(\$\w+ : @m\d\) \{\nfor \(\$\w+ : @m\d\)`, `for \(\$\w+ : \d+\.\.`, `while \(`,
		`unroll \(`, `break;`, `continue;`, `if comptime`,
		`\(a = `, `\.a\b`, `\.0\b`, `\((u?int\d+)\)`, `\(u?int\d+\[`, `str_concat\(`, `strstr\(`,
		`strncmp\(`, `memcmp\(`, `\[0\]`, `delete\(`, `has_key\(`, `len\(`,
		`= count\(\)`, `= sum\(`, `= min\(`, `= max\(`, `= avg\(`, `= stats\(`, `= hist\(`, `= lhist\(`,
		`printf\(`, `\?:`, `\+\+`, `<<=`, `end `, `begin /`,
	} {
		if !regexp.MustCompile(form).MatchString(all.String()) {
			t.Errorf("no script has %s", form)
		}
	}
}

// TestOldKernel: what an old kernel cannot do is left out.
func TestOldKernel(t *testing.T) {
	loop := regexp.MustCompile(`for \(\$\w+ : @|[^r]len\(@`)
	for seed := range uint64(seeds) {
		if text := scriptgen.Generate(seed, scriptgen.Kernel{NoIteration: true,
			NoAggregation: true}).String(); loop.MatchString(text) {
			t.Fatalf("seed %d goes over a map:\n%s", seed, text)
		}
	}
}

// TestShrink: of a script only what shows the mistake is left.
func TestShrink(t *testing.T) {
	n := scriptgen.Generate(7, scriptgen.Kernel{})
	if !strings.Contains(n.String(), "print(") {
		t.Fatal("the script prints nothing")
	}
	scriptgen.Shrink(n, func(script string) bool { return strings.Contains(script, "print(") })
	if text := n.String(); !strings.Contains(text, "print(") || len(text) > 60 {
		t.Errorf("left is:\n%s", text)
	}
}
