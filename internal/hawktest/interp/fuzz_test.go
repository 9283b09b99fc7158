package interp_test

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/hawktrace/hawk/internal/hawktest/scriptgen"
	"github.com/hawktrace/hawk/internal/machine"
)

// older are kernels that lack what the compiler likes to use; seeds take turns.
var older = [][]*machine.Feature{
	nil,
	{machine.MayGoto},
	nil,
	{machine.CPUv4, machine.AtomicFetch},
	nil,
	{machine.MayGoto, machine.BPFLoop, machine.CPUv4},
}

// without are the features that the script of a seed has to do without.
func without(seed uint64) []*machine.Feature { return older[seed%uint64(len(older))] }

// lacks is what no made-up script can ask of the running kernel.
func lacks() scriptgen.Kernel {
	host := machine.Host()
	return scriptgen.Kernel{
		NoIteration:   host.Has(machine.ForEachMapElem) != nil,
		NoAggregation: host.Has(machine.MapLookupPerCPU) != nil,
	}
}

// inPieces reports whether the script of a seed is compiled as if the verifier
// had given up on it: every fifth, or all with HAWK_FUZZ_PIECES.
func inPieces(seed uint64) bool { return seed%5 == 4 || os.Getenv("HAWK_FUZZ_PIECES") != "" }

// scripts is how many made-up scripts an ordinary test run compares.
const scripts = 300

// shrinking is how long it may take to make one of them small.
const shrinking = 30 * time.Second

// TestMadeUpScripts compares made-up scripts. HAWK_FUZZ_TIME=10m goes on for
// that long, HAWK_FUZZ_SEED=n begins with another seed.
func TestMadeUpScripts(t *testing.T) {
	needKernel(t)
	seed := uint64(1)
	if s := os.Getenv("HAWK_FUZZ_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	goOn := func(done int) bool { return done < scripts }
	if limit := os.Getenv("HAWK_FUZZ_TIME"); limit != "" {
		d, err := time.ParseDuration(limit)
		if err != nil {
			t.Fatal(err)
		}
		end := time.Now().Add(d)
		goOn = func(int) bool { return time.Now().Before(end) }
	}
	var count [differ + 1]int
	done, twice := 0, 0
	for ; goOn(done); done++ {
		n := scriptgen.Generate(seed, lacks())
		pieces := inPieces(seed)
		v, text, again := judgeAs(n.String(), pieces, without(seed))
		count[v]++
		if again {
			twice++
		}
		switch v {
		case invalid, unknown:
			if testing.Verbose() {
				t.Logf("seed %d: %s", seed, text)
			}
		case differ:
			end := time.Now().Add(shrinking)
			scriptgen.Shrink(n, func(script string) bool {
				if time.Now().After(end) {
					return false
				}
				again, _, _ := judgeAs(script, pieces, without(seed))
				return again == v
			})
			small := n.String()
			_, smallText, _ := judgeAs(small, pieces, without(seed))
			t.Errorf("seed %d: %s\nmade small:\n%s\n%s", seed, text, small, smallText)
		}
		if count[differ] >= 5 {
			break
		}
		seed++
	}
	t.Logf("%d scripts: %d agree, %d do not compile, %d unknown, %d differ or are refused; the verifier gave up on %d at first",
		done, count[agree], count[invalid], count[unknown], count[differ], twice)
	if count[agree] < done*3/4 {
		t.Error("too few of the scripts can be compared")
	}
}

// TestSeed shows and compares the script of the seed in $HAWK_SEED, and makes
// it small.
func TestSeed(t *testing.T) {
	seed, err := strconv.ParseUint(os.Getenv("HAWK_SEED"), 10, 64)
	if err != nil {
		t.Skip("no seed in HAWK_SEED")
	}
	needKernel(t)
	n := scriptgen.Generate(seed, lacks())
	pieces := inPieces(seed)
	v, text, _ := judgeAs(n.String(), pieces, without(seed))
	t.Logf("%s\n%d %s", n, v, text)
	if v == agree {
		return
	}
	end := time.Now().Add(10 * shrinking)
	scriptgen.Shrink(n, func(script string) bool {
		if time.Now().After(end) {
			return false
		}
		again, _, _ := judgeAs(script, pieces, without(seed))
		return again == v
	})
	_, text, _ = judgeAs(n.String(), pieces, without(seed))
	t.Logf("made small:\n%s\n%s", n, text)
}
