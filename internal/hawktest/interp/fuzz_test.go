package interp_test

import (
	"fmt"
	"maps"
	"math"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
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

// lacks is what no made-up script can ask of a machine's kernel.
func lacks(m *machine.Machine) scriptgen.Kernel {
	return scriptgen.Kernel{
		NoIteration:   m.Has(machine.ForEachMapElem) != nil,
		NoAggregation: m.Has(machine.MapLookupPerCPU) != nil,
	}
}

// settings go in front of the script of a seed. Most of the time of a small script
// goes to clearing large maps, which are small for seven of eight.
func settings(seed uint64) string {
	if seed%8 == 0 {
		return ""
	}
	return "config = { max_map_keys = 512; perf_rb_pages = 64 }\n"
}

// inPieces reports whether the script of a seed is compiled as if the verifier
// had given up on it: every fifth, or all with HAWK_FUZZ_PIECES.
func inPieces(seed uint64) bool { return seed%5 == 4 || os.Getenv("HAWK_FUZZ_PIECES") != "" }

// scripts is how many made-up scripts an ordinary test run compares.
const scripts = 300

// shrinking is how long it may take to make one of them small.
const shrinking = 30 * time.Second

// enough is how many scripts that differ end a run.
const enough = 5

// made is the script of a seed.
type made struct {
	seed uint64
	root *scriptgen.Node
}

func madeUp(seed uint64) made { return made{seed, scriptgen.Generate(seed, lacks(host()))} }

func (m made) judge() (v verdict, text string, gaveUp bool) {
	return judgeAs(settings(m.seed)+m.root.String(), inPieces(m.seed), without(m.seed))
}

// shrink makes the script small as long as it is judged alike, which takes as long as
// limit at most.
func (m made) shrink(v verdict, limit time.Duration) (small, text string) {
	end := time.Now().Add(limit)
	scriptgen.Shrink(m.root, func(string) bool {
		if time.Now().After(end) {
			return false
		}
		again, _, _ := m.judge()
		return again == v
	})
	_, text, _ = m.judge()
	return settings(m.seed) + m.root.String(), text
}

// A campaign compares the scripts of a row of seeds, several at once.
type campaign struct {
	t    *testing.T
	jobs int
	goOn func(done int) bool

	mu      sync.Mutex // guards what follows
	next    uint64     // seed
	begun   int
	count   [differ + 1]int
	gaveUp  int            // the verifier did at first
	reasons map[string]int // why scripts do not compile
}

// newCampaign reads what the environment says of it. HAWK_FUZZ_TIME=10m goes on for
// that long, HAWK_FUZZ_SCRIPTS=n for so many scripts; HAWK_FUZZ_SEED=n begins with
// another seed, HAWK_FUZZ_JOBS=n compares so many at once.
func newCampaign(t *testing.T) *campaign {
	number := func(name string, otherwise uint64) uint64 {
		s := os.Getenv(name)
		if s == "" {
			return otherwise
		}
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	c := &campaign{t: t, next: number("HAWK_FUZZ_SEED", 1), reasons: map[string]int{}}
	c.jobs = int(number("HAWK_FUZZ_JOBS", uint64(runtime.GOMAXPROCS(0))))
	otherwise := uint64(scripts)
	if os.Getenv(aheadFor) == "" && os.Getenv(aheadFile) != "" {
		otherwise = math.MaxInt // all that were prepared
	}
	most := int(number("HAWK_FUZZ_SCRIPTS", otherwise))
	c.goOn = func(begun int) bool { return begun < most }
	if limit := os.Getenv("HAWK_FUZZ_TIME"); limit != "" {
		d, err := time.ParseDuration(limit)
		if err != nil {
			t.Fatal(err)
		}
		end := time.Now().Add(d)
		c.goOn = func(int) bool { return time.Now().Before(end) }
	}
	return c
}

// take is the next seed, if there is one.
func (c *campaign) take() (seed uint64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count[differ] >= enough || !c.goOn(c.begun) {
		return 0, false
	}
	c.begun++
	c.next++
	if c.begun%5000 == 0 {
		c.t.Log(c)
	}
	return c.next - 1, true
}

// each calls a function with the seeds, several at once, until one returns false.
func (c *campaign) each(do func(seed uint64) bool) {
	var all sync.WaitGroup
	for range c.jobs {
		all.Go(func() {
			for {
				if seed, ok := c.take(); !ok || !do(seed) {
					return
				}
			}
		})
	}
	all.Wait()
}

// note takes down what became of the script of a seed.
func (c *campaign) note(seed uint64, v verdict, text string, gaveUp bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count[v]++
	if gaveUp {
		c.gaveUp++
	}
	switch v {
	case invalid:
		c.reasons[reason(text)]++
	case unknown:
		c.t.Logf("seed %d: %s", seed, text)
	}
}

// particular is what differs between messages of one kind.
var particular = regexp.MustCompile(
	`'[^']*'|"[^"]*"|\([^()]*\)|[@$][a-z0-9]+|-?\b[0-9]+\b|` +
		`\b(u?int(8|16|32|64)|bool|string)\b|\b(min|max|sum|avg|stats|count|l?hist)_t\b`)

// reason is the kind of the first error of a script that does not compile.
func reason(messages string) string {
	for line := range strings.Lines(messages) {
		if _, text, ok := strings.Cut(line, "ERROR: "); ok {
			return strings.TrimSpace(particular.ReplaceAllString(text, "…"))
		}
	}
	return messages
}

// compare is the road of one seed.
func (c *campaign) compare(seed uint64) bool {
	m := madeUp(seed)
	v, text, gaveUp := m.judge()
	c.conclude(seed, v, text, gaveUp)
	return true
}

// conclude takes down the verdict on a script, and makes it small if it differs.
func (c *campaign) conclude(seed uint64, v verdict, text string, gaveUp bool) {
	c.note(seed, v, text, gaveUp)
	if v == differ {
		small, smallText := madeUp(seed).shrink(v, shrinking)
		c.t.Errorf("seed %d: %s\nmade small:\n%s\n%s", seed, text, small, smallText)
	}
}

func (c *campaign) done() int {
	done := 0
	for _, n := range c.count {
		done += n
	}
	return done
}

func (c *campaign) String() string {
	done := c.done()
	each := func(total *atomic.Int64) time.Duration {
		return (time.Duration(total.Load()) / time.Duration(max(done, 1))).Round(10 * time.Microsecond)
	}
	return fmt.Sprintf("%d scripts: %d agree, %d do not compile, %d unknown, %d differ or are refused; "+
		"the verifier gave up on %d at first; one took %v to compile, %v to interpret, %v to load, %v to run", done,
		c.count[agree], c.count[invalid], c.count[unknown], c.count[differ], c.gaveUp,
		each(&spent.compiling), each(&spent.interpreting), each(&spent.loading), each(&spent.running))
}

// TestMadeUpScripts compares made-up scripts; see newCampaign for its settings.
func TestMadeUpScripts(t *testing.T) {
	needKernel(t)
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // the heap is small, and giving memory back is slow
	c := newCampaign(t)
	if path := os.Getenv(aheadFile); path != "" {
		c.comparePrepared(path)
	} else {
		c.each(c.compare)
	}
	t.Log(c)
	for _, why := range slices.Sorted(maps.Keys(c.reasons)) {
		t.Logf("do not compile: %6d %s", c.reasons[why], why)
	}
	if c.count[agree] < c.done()*3/4 {
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
	m := madeUp(seed)
	v, text, _ := m.judge()
	t.Logf("%s\n%d %s", m.root, v, text)
	if v == agree {
		return
	}
	small, text := m.shrink(v, 10*shrinking)
	t.Logf("made small:\n%s\n%s", small, text)
}
