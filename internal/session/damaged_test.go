package session_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/compile"
	"github.com/hawktrace/hawk/internal/hawktest/bound"
	"github.com/hawktrace/hawk/internal/load"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/session"
	"github.com/hawktrace/hawk/internal/source"
)

// damagedSource has a parameter of each kind of type.
const damagedSource = `
#include <stdint.h>
enum color { RED, GREEN = 1000, BLUE = -1 };
struct inner { char tag[12]; short pair[2]; struct { int deep; union { long l; char c[8]; }; }; };
struct bits { unsigned a : 3; signed b : 7; unsigned long long c : 40; };
union either { int i; float f; struct inner in; };
struct node { struct node *next; struct inner in; struct inner many[3]; int grid[2][3]; enum color color;
	struct bits bits; union either u; const char *name; double d; int (*call)(int); char rest[]; };
struct small { int x, y; };
struct pair { long a; double b; };
typedef struct node node_t;
int f_node(node_t *n, int k) { return n->in.pair[0] + k; }
int f_small(struct small s, struct pair p) { return s.x + (int)p.a; }
long f_big(struct inner i, enum color c, long double ld, __int128 w) { return i.pair[1] + c + (long)ld + (long)w; }
const char *f_text(const char *s, char c, _Bool b, unsigned char *u, void *v) { return s + c + b + (u == v); }
struct bits f_bits(struct bits *b, union either *e, double d, float f) { b->a = e->i + (int)d + (int)f; return *b; }
struct small f_pair(int (*grid)[3], short *s, node_t **nn) {
	struct small r = { grid[0][1], *s + (nn != 0) }; return r; }
struct empty {};
struct huge { char text[100000]; int many[70000]; struct inner deep[3000]; struct empty none; int zero[0]; };
int f_huge(struct huge *h, struct empty e, int (*z)[0], struct inner (*big)[1 << 20]) { return h->many[1] + (*z)[0]; }
int main(int argc, char **argv) { return argc > 100; }
`

// damagedScripts read whatever the types of parameters let them.
var damagedScripts = []string{
	`uprobe:%s:f_node { print(args); print(*args.n); print(args.n->next->in.deep); print(args.n->grid[1][2]);
	 print(args.n->many[args.k]); printf("%%s %%d", args.n->in.tag, args.n->color); @[args.n->u] = count(); }`,
	`uprobe:%s:f_node { print(args.n->in); } `,
	`uprobe:%s:f_node { print(args.n->bits.c); print(args.n->bits.b); print(args.n->rest); }`,
	`uprobe:%s:f_node { $n = args.n; @s[tid] = $n->in; print(str($n->name)); print($n->in.pair); }`,
	`uprobe:%s:f_node { $n = *args.n; print(($n.many, $n.grid)); }`,
	`uprobe:%s:f_node { $n = (struct node *)arg0; print($n->in.pair[1]); print(sizeof(struct node)); print($n->u); }`,
	`uprobe:%s:f_small { print(args); @[args.s] = count(); print(args.s.y); }`,
	`uprobe:%s:f_big { print(args); }`,
	`uprobe:%s:f_big { print(args.i); print(args.i.tag); print(args.c); @x[args.w] = args.i; print(args.ld); }`,
	`uprobe:%s:f_text { print(args); print(str(args.s)); print(args.c); print(args.b); print(args.u[1]); }`,
	`uretprobe:%s:f_text { print(str(retval)); print(*retval); }`,
	`uprobe:%s:f_bits { print(args); print(args.b->c); print(args.e->in.tag); print(*args.e); @[args.b->b] = 1; }`,
	`uretprobe:%s:f_bits { print(retval); @[retval] = 1; }`,
	`uretprobe:%s:f_pair { print(retval); @ = retval; }`,
	`uprobe:%s:f_pair { print(args.grid[0][2]); print(*args.s); print((**args.nn).in.deep); print(args); }`,
	`uprobe:%s:f_huge { print(args); print(args.h->many[3]); print(args.h->deep[7].tag); print(args.h->none); }`,
	`uprobe:%s:f_huge { print(args.e); print(*args.z); print(args.h->zero); @[args.h->none] = count(); }`,
	`uprobe:%s:f_huge { print((*args.big)[2000].pair); $e = args.h->none; print($e); print(sizeof(*args.big)); }`,
	`uprobe:%s:f_big { $e = (enum color)arg0; print($e); $i = (struct inner)args.i; print($i.tag); print(BLUE); }`,
}

// TestDamagedTypes compiles and loads scripts over a program whose debug information is damaged in
// many ways. Each is taken, or refused with an error about the script or the file.
// HAWK_DAMAGE and HAWK_SEED make other damage, and more of it.
func TestDamagedTypes(t *testing.T) {
	needsBPF(t)
	number := func(name string, otherwise int) int {
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
			return n
		}
		return otherwise
	}
	rounds := number("HAWK_DAMAGE", 20)
	r := rand.New(rand.NewPCG(uint64(number("HAWK_SEED", 1)), 0))
	dir := t.TempDir()
	for _, version := range []string{"-gdwarf-4", "-gdwarf-5"} {
		whole, places := breakable(t, dir, version)
		for n := range rounds {
			image, what := bytes.Clone(whole), "whole"
			if n > 0 {
				what = places.damage(image, r)
			}
			path := filepath.Join(dir, fmt.Sprintf("d%s.%d", version, n))
			if err := os.WriteFile(path, image, 0o777); err != nil {
				t.Fatal(err)
			}
			for _, script := range damagedScripts {
				sound := n == 0 && !strings.Contains(script, "f_huge") // whose types have no size
				bound.Run(t, len(image), func() { takes(t, fmt.Sprintf(script, path), what, sound) })
			}
			os.Remove(path)
		}
	}
}

// places are where in a file the numbers and the references of its debug information lie.
type places struct {
	base, end     int   // of .debug_info
	numbers, refs []int // of 8 bytes, and of 4
	entries       []int // counted from base
}

// numbers are attributes that are made longer.
const numbers = "byte_size|upper_bound|count|data_member_location|bit_size|bit_offset|" +
	"data_bit_offset|encoding|const_value"

var (
	dieLine    = regexp.MustCompile(`(?m)^\t\.uleb128 0x[0-9a-f]+\t# \(DIE \(0x([0-9a-f]+)\) DW_TAG`)
	numberLine = regexp.MustCompile(`(?m)^\t\.(?:byte|value|2byte|long|4byte)\t(\S+)` +
		`(\t# DW_AT_(?:` + numbers + `)\b)`)
	formLine   = regexp.MustCompile(`(\(DW_AT_(?:` + numbers + `)\)\n\t\.uleb128 )0x(?:b|5|6)(\t)`)
	lengthLine = regexp.MustCompile(`(?m)^\t\.long\t0x[0-9a-f]+(\t# Length of Compilation Unit Info\n)`)
	refLine    = regexp.MustCompile(`(?m)^\t\.long\t0x([0-9a-f]+)\t# DW_AT_(?:type|sibling)\b`)
)

// breakable builds the program such that each number of its debug information has eight bytes, and
// a symbol that says where.
func breakable(t *testing.T, dir, version string) ([]byte, places) {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc")
	}
	run := func(args ...string) {
		if text, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
			t.Fatalf("gcc %s: %s", args, text)
		}
	}
	src, asm, out := filepath.Join(dir, "p.c"), filepath.Join(dir, "p.s"), filepath.Join(dir, "p")
	if err := os.WriteFile(src, []byte(damagedSource), 0o666); err != nil {
		t.Fatal(err)
	}
	run("-g", version, "-S", "-dA", "-o", asm, src)
	raw, err := os.ReadFile(asm)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	text := dieLine.ReplaceAllString(string(raw), "hawk_die_$1:\n$0")
	text = numberLine.ReplaceAllStringFunc(text, func(line string) string {
		n++
		return fmt.Sprintf("hawk_number_%d:\n%s", n, numberLine.ReplaceAllString(line, "\t.8byte\t$1$2"))
	})
	text = formLine.ReplaceAllString(text, "${1}0x7$2")
	text = refLine.ReplaceAllStringFunc(text, func(line string) string {
		n++
		return fmt.Sprintf("hawk_ref_%d:\n%s", n, refLine.ReplaceAllString(line, "\t.long\thawk_die_$1-.Ldebug_info0"))
	})
	text = lengthLine.ReplaceAllString(text, "\t.long\thawk_end-hawk_begin${1}hawk_begin:\n")
	text = strings.Replace(text, "\t.section\t.debug_abbrev", "hawk_end:\n\t.section\t.debug_abbrev", 1)
	if err := os.WriteFile(asm, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	run("-o", out, asm)
	image, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	e, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		t.Fatal(err)
	}
	info := e.Section(".debug_info")
	p := places{base: int(info.Offset), end: int(info.Offset + info.Size)}
	symbols, err := e.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		at := int(s.Value)
		switch {
		case strings.HasPrefix(s.Name, "hawk_die_"):
			p.entries = append(p.entries, at)
		case strings.HasPrefix(s.Name, "hawk_number_"):
			p.numbers = append(p.numbers, p.base+at)
		case strings.HasPrefix(s.Name, "hawk_ref_"):
			p.refs = append(p.refs, p.base+at)
		}
	}
	if len(p.entries) < 50 || len(p.numbers) < 50 || len(p.refs) < 50 {
		t.Fatalf("%d entries, %d numbers, %d references", len(p.entries), len(p.numbers), len(p.refs))
	}
	return image, p
}

// Numbers that files should not have.
var oddNumbers = []int64{
	0, 0, 1, 3, 5, 7, 16, 24, 63, 64, 65, 127, 255, 300, 511, 512, 513, 4096, 65535, 65536, 1 << 20, 1<<29 - 1, 1 << 30,
	1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1 << 40, 1<<61 + 1, 1<<62 - 1, 1<<63 - 1, -1 << 63, -1, -2, -8, -4096,
}

// damage changes some numbers, references or bytes of a file, and says how.
func (p *places) damage(image []byte, r *rand.Rand) string {
	var what strings.Builder
	for range 1 + r.IntN(4) {
		switch r.IntN(5) {
		case 0, 1:
			at, to := p.numbers[r.IntN(len(p.numbers))], oddNumbers[r.IntN(len(oddNumbers))]
			binary.LittleEndian.PutUint64(image[at:], uint64(to))
			fmt.Fprintf(&what, "number at %#x is %#x; ", at-p.base, to)
		case 2, 3:
			at, to := p.refs[r.IntN(len(p.refs))], p.entries[r.IntN(len(p.entries))]
			binary.LittleEndian.PutUint32(image[at:], uint32(to))
			fmt.Fprintf(&what, "reference at %#x is %#x; ", at-p.base, to)
		default:
			at, to := p.base+r.IntN(p.end-p.base), byte(r.Uint32())
			image[at] = to
			fmt.Fprintf(&what, "byte at %#x is %#x; ", at-p.base, to)
		}
	}
	return what.String()
}

// takes compiles and loads one script.
func takes(t *testing.T, script, what string, sound bool) {
	fault := func(why string) { t.Errorf("%s\n%s: %s", script, what, why) }
	po := probe.Options{Machine: machine.Host(), MaxProbes: 1024}
	p, ds := session.Compile(source.NewFile("stdin", script), compile.Options{Probe: po, Verify: true, Trace: true})
	for _, d := range ds.List() {
		if d.Severity == source.Bug {
			fault(d.Msg)
		}
	}
	if p == nil {
		if sound {
			var text strings.Builder
			ds.Print(&text, source.PrintOptions{})
			fault(text.String())
		}
		return
	}
	s, err := session.Load(session.Spec{Program: p, Probe: po})
	if err == nil {
		s.Close()
		return
	}
	if rej := (*load.Rejected)(nil); errors.As(err, &rej) && rej.Diag.Severity != source.Bug && !sound {
		return
	}
	fault(err.Error())
}
