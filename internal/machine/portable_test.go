package machine

import (
	"slices"
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/arch"
	"github.com/hawktrace/hawk/internal/types"
)

const format = `
-- uname --
x86_64 6.12.0-test
-- features --
ring_buffer loop may_goto kprobe_session
-- sys/kernel/tracing/events/demo/event/id --
7
-- sys/kernel/tracing/events/demo/event/format --
name: event
ID: 7
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:int number;	offset:8;	size:4;	signed:1;
	field:char name[16];	offset:12;	size:16;	signed:0;

print fmt: "%d", REC->number
`

// A fact is what it was where it can be moved, or says what is different.
func TestFacts(t *testing.T) {
	here := record(t, format)
	portable, ledger := here.ForOthers(arch.AMD64, "6.9")
	f, err := portable.TracepointFormat("demo", "event")
	if err != nil {
		t.Fatal(err)
	}
	if field, _ := f.Struct().Field("common_pid"); field.Reloc != 0 {
		t.Error("a field that is in the same place everywhere has a relocation")
	}
	for range 2 {
		if field, _ := f.Struct().Field("name"); field.Reloc != 1 {
			t.Errorf("relocation %d", field.Reloc)
		}
	}
	if n, ok := portable.Defer(Fact{Kind: EventID, Module: "demo", Of: "event"}); n != 1 || !ok {
		t.Errorf("%d, %t", n, ok)
	}
	if _, ok := here.Defer(Fact{Kind: CPUs}); ok {
		t.Error("a machine that is not portable defers")
	}
	if len(ledger.Facts) != 2 {
		t.Fatalf("facts %v", ledger.Facts)
	}
	name, id := &ledger.Facts[0], &ledger.Facts[1]

	for _, tt := range []struct {
		name, from, to string
		moved          int64  // what it is where it may move, -1: it may not
		why            string // it may not, or must stay in its place and does not
	}{
		{"same", "", "", 12, ""},
		{"moved", "name[16];	offset:12", "name[16];	offset:20", 20, "(12, here it is 20)"},
		{"longer", "name[16];	offset:12;	size:16", "name[32];	offset:12;	size:32", -1,
			"string[16], here it is string[32]"},
		{"gone", "char name[16]", "char other[16]", -1, "this kernel does not have it"},
	} {
		there := record(t, strings.Replace(format, tt.from, tt.to, 1))
		n, err := there.Look(name, true)
		if tt.moved < 0 && err == nil || tt.moved >= 0 && (err != nil || n != tt.moved) {
			t.Errorf("%s: %d, %v", tt.name, n, err)
		}
		if _, err := there.Look(name, false); (err == nil) != (tt.why == "") || err != nil &&
			!strings.Contains(err.Error(), tt.why) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if n, err := here.Look(id, true); n != 7 || err != nil {
		t.Errorf("the event is number %d, %v", n, err)
	}
	if _, err := record(t, "-- uname --\nx86_64 5.10.0").Look(id, true); err == nil ||
		!strings.Contains(err.Error(), "tracepoint demo:event") {
		t.Errorf("without the event: %v", err)
	}

	for _, tt := range []struct {
		feature *Feature
		has     bool
	}{{RingBuffer, true}, {BPFLoop, true}, {MayGoto, false}, {KprobeSession, false}, {CPUv4, false}} {
		if err := portable.Has(tt.feature); (err == nil) != tt.has {
			t.Errorf("%s: %v", tt.feature.Name, err)
		}
	}
	if !slices.Equal(ledger.Features, []*Feature{RingBuffer, BPFLoop}) || ledger.Youngest() != BPFLoop.Since {
		t.Errorf("features %v, the youngest is of %s", ledger.Features, ledger.Youngest())
	}
	if _, err := Host().Look(&Fact{Kind: Member, Of: "struct task_struct"}, true); err == nil {
		t.Error("a member without a name is found")
	}
	if portable.PossibleCPUs() != PortableCPUs || portable.HasKfunc("bpf_task_from_pid") == nil {
		t.Error("what is portable depends on this machine")
	}
	if ledger.CPUs = 4; portable.PossibleCPUs() != 4 {
		t.Errorf("room for %d processors where no machine has more than 4", portable.PossibleCPUs())
	}
}

// Members behind a pointer in a tracepoint's record are facts of the kernel's types.
func TestFactsBehindRecord(t *testing.T) {
	portable, ledger := Host().ForOthers(arch.Native(), "")
	needBTF(t)
	f, err := ParseFormat("demo", "event", "\tfield:struct task_struct * task;\toffset:8;\tsize:8;\tsigned:0;\n",
		portable)
	if err != nil {
		t.Fatal(err)
	}
	task := f.Fields[0].Type.(*types.Pointer).Elem
	portable.Fix(task, true)
	pid, ok := task.(*types.Struct).Field("pid")
	if !ok || pid.Reloc != 2 || len(ledger.Facts) != 2 || ledger.Facts[0].Kind != Layout ||
		ledger.Facts[1].Of != "struct task_struct" {
		t.Errorf("the field %+v, the facts %v", pid, ledger.Facts)
	}
}
