package saved

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	cost "github.com/hawktrace/hawk/internal/hawktest/bound" // bound is a function here
	"github.com/hawktrace/hawk/internal/view"
)

// TestRoom reads stacks that have little in common, and draws them. What they take in memory is little more than what
// the file says of them: an address for a frame, and a few numbers for a node of the tree.
func TestRoom(t *testing.T) {
	const stacks = 20_000
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString(`{"type":"script","name":"x","maps":[{"name":"@","kind":"counter","role":"result",` +
		`"labels":["kernel_frames","comm"]}]}` + "\n" + `{"type":"map","t":1,"name":"@","rows":[`)
	frames := 0
	for i := range stacks {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("[[[")
		for k := range 10 + r.IntN(20) {
			if frames++; k > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `["function_%d",%d,"mod"]`, r.IntN(2000), r.IntN(8))
		}
		fmt.Fprintf(&b, `],"c%d"],%d]`, i%10, i+1)
	}
	b.WriteString("]}\n")
	text := []byte(b.String())
	b.Reset()
	before := cost.Heap()
	f, err := parseBytes(text, "x")
	if err != nil {
		t.Fatal(err)
	}
	run, err := f.End()
	if err != nil {
		t.Fatal(err)
	}
	p := view.NewProfile(&run.Maps[0])
	p.Each(func(s *view.Sample) {
		if s.Broken() {
			t.Errorf("%v is broken", s.Stack)
		}
	})
	if n := (cost.Heap() - before) / frames; n > 64 {
		t.Errorf("a frame takes %d bytes", n)
	}
	before = cost.Heap()
	trie := view.NewTrie(p, func(f *view.FrameAt) string { return f.Name })
	if n := len(trie.Children(0)); n != 10 {
		t.Errorf("the root has %d children", n)
	}
	if n := (cost.Heap() - before) / trie.Len(); n > 64 {
		t.Errorf("a node takes %d bytes", n)
	}
	runtime.KeepAlive(text)
	runtime.KeepAlive(f)
}

// TestStacksRoom reads stacks that begin alike, as most do. They take a part of what they do as texts.
func TestStacksRoom(t *testing.T) {
	const stacks = 20_000
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for i := range stacks {
		at := uint64(0)
		for k := range 20 {
			at = (at*3 + r.Uint64N(3) + 1) % 4001
			if k > 0 {
				b.WriteByte(';')
			}
			fmt.Fprintf(&b, "function_%d_of_a_module_with_a_name", at)
		}
		fmt.Fprintf(&b, " %d\n", i+1)
	}
	text := []byte(b.String())
	b.Reset()
	before := cost.Heap()
	f, err := parseBytes(text, "x")
	if err != nil {
		t.Fatal(err)
	}
	if n := (cost.Heap() - before) / stacks; n > len(text)/stacks/2 {
		t.Errorf("a stack takes %d bytes of memory, %d of the file", n, len(text)/stacks)
	}
	runtime.KeepAlive(text)
	runtime.KeepAlive(f)
}

// TestStacksAlone: once stacks are weighed, the rows that had them are gone.
func TestStacksAlone(t *testing.T) {
	const stacks = 20_000
	var b strings.Builder
	b.WriteString(`{"type":"script","name":"x","maps":[{"name":"@","kind":"counter","role":"result",` +
		`"labels":["kernel_frames"]}]}` + "\n" + `{"type":"map","t":1,"name":"@","rows":[`)
	for i := range stacks {
		fmt.Fprintf(&b, `[[[["f%d",0,""]%s]],%d],`, i, strings.Repeat(`,["call",0,""]`, 20), i+1)
	}
	text := []byte(strings.TrimSuffix(b.String(), ",") + "]}\n")
	b.Reset()
	before := cost.Heap()
	f, err := parseBytes(text, "x")
	if err != nil {
		t.Fatal(err)
	}
	rows := cost.Heap() - before
	all, err := f.Profiles()
	if err != nil || len(all) != 1 || all[0].Total() != stacks*(stacks+1)/2 {
		t.Fatal(all, err)
	}
	all[0].Each(func([]string, int64) {})
	if n := cost.Heap() - before; n > rows/2 {
		t.Errorf("stacks take %d bytes, the rows that they are of took %d", n, rows)
	}
	runtime.KeepAlive(text)
	runtime.KeepAlive(f)
}
