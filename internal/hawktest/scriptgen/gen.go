package scriptgen

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// A shape is the type of a value as far as the generator has to know it: all
// integers are one.
type shape struct {
	kind  kind
	elems []shape  // of tuples and records
	names []string // of records
}

// A kind is the kind of a value.
type kind uint8

const (
	integer kind = iota
	boolean
	text
	tuple
	record
)

// A variable is a scratch variable that is visible.
type variable struct {
	name   string
	of     shape
	sized  bool // declared with a type: what is stored must be cast
	frozen bool // counts a loop
}

// A mapping is a map of the script.
type mapping struct {
	name    string
	keys    []shape // nil: scalar
	of      shape
	agg     string // "" if it holds plain values
	args    string // behind the argument of the aggregation
	deletes bool   // some probe deletes from it
}

// A Kernel is what the kernel that runs a script cannot do.
type Kernel struct {
	NoIteration   bool // go over a map's elements
	NoAggregation bool // read an aggregation
}

// A generator is the state of making up one script.
type generator struct {
	*rand.Rand
	kernel Kernel
	scopes [][]variable
	maps   []mapping
	loops  int // loops around
	weight int // how often the present place runs, about
	budget int // statements left
	// calm: inside a loop whose rounds the verifier does not count. It follows
	// every path through such a loop until it sees the same state again, so that
	// there must not be too many.
	calm  bool
	enums bool            // the script has enumerators
	uses  map[string]bool // helpers that the script has to define
	made  int             // maps that loops over maps fill
	own   []routine       // macros and functions made up for this script
	in    *routine        // whose body this is; nil in a probe
}

// helpers are macros and functions that scripts use. Between them they have what functions can:
// arguments that are narrower than what is passed, an early return, a return out of each kind of
// loop.
var helpers = map[string]string{
	"sum2":   "macro sum2(x, y) { x + y }\n",
	"larger": "macro larger(x, y) { let $x = x; let $y = y; $x > $y ? $x : $y }\n",
	"bump":   "macro bump($v) { $v += 3; $v }\n",
	"times":  "fn times($a: int64, $b: int16): int32 { if ($b == 0) { return 7; } return $a * $b; }\n",
	"triangle": "fn triangle($n: uint8): uint64 { $s = (uint64)0; for ($i : 0..5) { if ($i == ($n & 7)) { return " +
		"99; } $s += (uint64)$i; } return $s; }\n",
	"steps": "fn steps($n: int16): uint8 { $i = 0; while ($i < 9) { if ($i >= ($n & 3)) { return $i; } $i++; } " +
		"return 200; }\n",
}

// Generate makes up the script of a seed. The same seed gives the same script, so that a mistake
// is found again by its number.
func Generate(seed uint64, k Kernel) *Node {
	g := &generator{kernel: k, Rand: rand.New(rand.NewPCG(seed, 0x6861776b)), weight: 1}
	g.budget = 6 + g.IntN(30)
	g.uses = map[string]bool{}
	g.makeMaps()
	routines := g.routines()
	var probes []*Node
	// Several probes of one kind run one after the other, and share maps but not variables.
	n := 1 + g.IntN(2)
	for i := range n {
		probes = append(probes, g.probe("begin", i == 0, false))
	}
	if g.IntN(3) == 0 {
		// The probe at the end needs some of its own: those before may have used up all.
		g.budget += 5
		probes = append(probes, g.probe("end", false, true))
	}
	var head []*Node
	if g.enums {
		head = append(head, leaf(Stmt, enums))
	}
	for _, name := range slices.Sorted(maps.Keys(g.uses)) {
		head = append(head, leaf(Stmt, helpers[name]))
	}
	return list(append(append(head, routines...), probes...))
}

// one is true once in so many times.
func (g *generator) one(in int) bool { return g.IntN(in) == 0 }

// pick takes one of several at random. What stands twice is taken twice as often.
func pick[T any](g *generator, from ...T) T { return from[g.IntN(len(from))] }

// shape makes up a shape of at most so many levels. A tuple has up to three parts. The names are
// there in case it becomes a record.
func (g *generator) shape(depth int) shape {
	n := 10
	if depth == 0 {
		n = 8
	}
	switch k := g.IntN(n); {
	case k < 4:
		return shape{kind: integer}
	case k < 5:
		return shape{kind: boolean}
	case k < 8:
		return shape{kind: text}
	default:
		s := shape{kind: tuple}
		for range 1 + g.IntN(3) {
			s.elems = append(s.elems, g.shape(depth-1))
			s.names = append(s.names, string(rune('a'+len(s.names))))
		}
		if g.one(3) {
			s.kind = record
		}
		return s
	}
}

// makeMaps makes up the maps that all probes share. Half of them lose no elements, so that there
// are some at the end.
func (g *generator) makeMaps() {
	for i := range 3 + g.IntN(5) {
		m := mapping{name: fmt.Sprintf("@m%d", i), of: shape{kind: integer}, deletes: g.one(2)}
		for range g.IntN(3) {
			m.keys = append(m.keys, g.shape(1))
		}
		switch g.IntN(5) {
		case 0, 1:
		case 2:
			m.of = g.shape(2)
		default:
			m.agg = pick(g, "count", "sum", "min", "max", "avg", "stats", "hist", "lhist")
			switch m.agg {
			case "hist":
				m.args = pick(g, "", "", ", 1", ", 2", ", 5")
			case "lhist":
				m.args = pick(g, ", 0, 100, 10", ", 3, 17, 4", ", 0, 5000, 1000", ", 100, 1000, 1")
			}
		}
		g.maps = append(g.maps, m)
	}
}

// probe makes up a probe. The first one gives every map a value, since a map
// that is only read is not one.
func (g *generator) probe(kind string, first, last bool) *Node {
	g.scopes = [][]variable{nil}
	head := kind + " {\n"
	var kids []*Node
	if !first && g.one(4) {
		kids = append(kids, g.boolean(2))
		head = kind + " /#/ {\n"
	}
	var body []*Node
	body = append(body, node(Stmt, "$a = #;\n", g.integer(0)))
	g.bind(variable{name: "$a", of: shape{kind: integer}})
	if first {
		for _, m := range g.maps {
			body = append(body, g.first(m))
		}
		for range 4 {
			body = append(body, g.declare())
		}
	}
	// The budget is shared by the probes that follow.
	share := g.budget
	if !last {
		share = g.budget/2 + 1
	}
	for range share {
		if g.budget > 0 {
			body = append(body, g.statement())
		}
	}
	// Every variable is printed at the end, so that whatever went wrong on the way shows.
	for _, v := range g.scopes[0] {
		body = append(body, leaf(Stmt, "print("+v.name+");\n"))
	}
	// Only the last probe prints whole maps: what user space prints must not change any more.
	if last {
		for _, m := range g.maps {
			if g.one(3) {
				top := ""
				if m.agg != "stats" && len(m.keys) > 0 {
					top = pick(g, "", ", 2", ", 3, 7", ", 0, 10")
				}
				body = append(body, leaf(Stmt, "print("+m.name+top+");\n"))
			}
			if g.one(6) {
				body = append(body, leaf(Stmt, pick(g, "zero", "clear")+"("+m.name+");\nprint("+m.name+");\n"))
			}
		}
	}
	return node(Fixed, head+"#}\n", append(kids, list(body))...)
}

// visible lists the variables that fit. Blocks that have ended took theirs with them.
func (g *generator) visible(fits func(variable) bool) (out []variable) {
	for _, s := range g.scopes {
		for _, v := range s {
			if fits(v) {
				out = append(out, v)
			}
		}
	}
	return out
}

// fresh is a name that no visible variable has; siblings share names. The language lets no
// variable hide another one.
func (g *generator) fresh() string {
	taken := map[string]bool{}
	for _, s := range g.scopes {
		for _, v := range s {
			taken[v.name] = true
		}
	}
	for i := 0; ; i++ {
		if name := "$" + string(rune('a'+i%26)) + strings.Repeat("x", i/26); !taken[name] {
			return name
		}
	}
}

// bind makes a variable visible from here on, to the end of the innermost block.
func (g *generator) bind(v variable) {
	top := len(g.scopes) - 1
	g.scopes[top] = append(g.scopes[top], v)
}

// scoped runs f in a scope of its own.
func (g *generator) scoped(f func()) {
	g.scopes = append(g.scopes, nil)
	f()
	g.scopes = g.scopes[:len(g.scopes)-1]
}

// widths are the integer types of the language, as casts and declarations name them.
var widths = []string{"int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"}
