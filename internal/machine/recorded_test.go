package machine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hawktrace/hawk/internal/types"
)

// record writes the files of a txtar archive and returns the machine.
func record(t testing.TB, archive string) *Machine {
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return Recorded(dir)
}

const machine = `
-- uname --
aarch64 6.12.0-test
-- features --
ring_buffer loop
-- sys/devices/system/cpu/possible --
0-7
-- sys/devices/system/cpu/online --
0,2-3
-- proc/modules --
ext4 1 0 - Live 0x0
nf_tables 1 0 - Live 0x0
-- sys/kernel/debug/kprobes/blacklist --
0x1-0x2	do_int3
-- sys/kernel/tracing/available_filter_functions --
vfs_read
vfs_readv
do_int3
rcu_read_lock
shared [ext4]
shared [nf_tables]
vfs_write
-- sys/kernel/tracing/available_events --
sched:sched_switch
ext4:ext4_da_write
-- sys/kernel/tracing/events/sched/sched_switch/id --
314
-- sys/kernel/tracing/events/sched/sched_switch/format --
name: sched_switch
ID: 314
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:char prev_comm[16];	offset:8;	size:16;	signed:0;
	field:pid_t prev_pid;	offset:24;	size:4;	signed:1;
	field:long prev_state;	offset:32;	size:8;	signed:1;

print fmt: "prev_comm=%s ID:", REC->prev_comm
`

func TestRecorded(t *testing.T) {
	m := record(t, machine)
	if m.Arch().Name != "aarch64" || m.Release() != "6.12.0-test" {
		t.Errorf("%s %s", m.Arch().Name, m.Release())
	}
	online, err := m.OnlineCPUs()
	if m.PossibleCPUs() != 8 || !reflect.DeepEqual(online, []int{0, 2, 3}) || err != nil {
		t.Errorf("CPUs %d, %v, %v", m.PossibleCPUs(), online, err)
	}
	if err := m.Has(RingBuffer); err != nil {
		t.Error(err)
	}
	var u *Unsupported
	if err := m.Has(KprobeMulti); !errors.As(err, &u) || !strings.Contains(err.Error(), "5.18") {
		t.Errorf("kprobe_multi: %v", err)
	}
	if _, err := m.BTF(); !errors.Is(err, ErrNoBTF) {
		t.Errorf("BTF: %v", err)
	}
	if mods := m.Modules(); !reflect.DeepEqual(mods, []string{"ext4", "nf_tables"}) {
		t.Errorf("modules %q", mods)
	}
	events, err := m.Events()
	if err != nil || fmt.Sprint(events) != "[ext4:ext4_da_write sched:sched_switch]" {
		t.Errorf("events %v, %v", events, err)
	}
	if id, err := m.TracepointID("sched", "sched_switch"); id != 314 || err != nil {
		t.Errorf("id %d, %v", id, err)
	}
	f, err := m.TracepointFormat("sched", "sched_switch")
	if err != nil || f.ID != 314 || len(f.Fields) != 5 || !f.Fields[1].Common || f.Fields[2].Common || f.Bytes != 40 {
		t.Errorf("format %+v, %v", f, err)
	}
	if _, err := m.TracepointFormat("sched", "none"); !errors.Is(err, ErrNoEvent) {
		t.Errorf("unknown event: %v", err)
	}
}

func TestFunctionList(t *testing.T) {
	l, err := record(t, machine).FilterFunctions()
	if err != nil || l.Fallback != nil {
		t.Fatalf("%v, %v", err, l)
	}
	var all []string
	l.Each(func(name, module []byte) bool {
		all = append(all, string(name)+":"+string(module))
		return true
	})
	if got := strings.Join(all, " "); got != "vfs_read: vfs_readv: shared:ext4 shared:nf_tables vfs_write:" {
		t.Errorf("functions %s", got)
	}
	for _, c := range []struct {
		module, name string
		want         bool
	}{
		{"", "vfs_read", true}, {"vmlinux", "vfs_read", true}, {"ext4", "vfs_read", false}, {"ext4", "shared", true},
		{"", "vfs_rea", false}, {"", "fs_read", false}, {"", "do_int3", false}, {"", "rcu_read_lock", false},
		{"", "", false},
	} {
		if got := l.Has(c.module, c.name); got != c.want {
			t.Errorf("%s:%s: %v", c.module, c.name, got)
		}
	}
	if m := l.Modules("shared"); !reflect.DeepEqual(m, []string{"ext4", "nf_tables"}) {
		t.Errorf("shared is in %q", m)
	}
}

func TestKallsymsFallback(t *testing.T) {
	l, err := record(t, `
-- proc/kallsyms --
ffffffff81000000 T vfs_read
ffffffff81000100 D data
ffffffff81000200 t rcu_x
ffffffffc0000000 t inmod	[ext4]
ffffffffc0001000 t bpf_prog_1	[bpf]
-- sys/kernel/tracing/events/header_page --
`).FilterFunctions()
	if err != nil || l.Fallback == nil {
		t.Fatalf("%v, %+v", err, l)
	}
	if !l.Has("ext4", "inmod") || !l.Has("vmlinux", "vfs_read") || l.Has("", "data") || l.Has("", "bpf_prog_1") {
		t.Errorf("list %q", l.text)
	}
}

func TestKallsyms(t *testing.T) {
	k, err := parseKallsyms([]byte("ffffffff81000010 T b\nffffffff81000000 T a\nffffffff81000000 T " +
		"a_alias\n0000000000000000 A percpu\nffffffffc0000000 t m\t[ext4]\nbad line\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		addr uint64
		want string
	}{
		{0xffffffff81000000, "a  0 true"}, {0xffffffff8100000f, "a  15 true"}, {0xffffffff81000010, "b  0 true"},
		{0xffffffffc0000004, "m ext4 4 true"}, {0x10, "  0 false"},
	} {
		name, module, off, ok := k.Lookup(c.addr)
		if got := fmt.Sprintf("%s %s %d %v", name, module, off, ok); got != c.want {
			t.Errorf("%#x: %s, want %s", c.addr, got, c.want)
		}
	}
	for addr, want := range map[uint64]uint64{0xffffffff81000000: 16, 0xffffffff81000004: 12, 0xffffffffc0000000: 0} {
		if got := k.Extent(addr); got != want {
			t.Errorf("%d bytes from %#x to the next symbol, want %d", got, addr, want)
		}
	}
	if a, ok := k.Address("m"); !ok || a != 0xffffffffc0000000 {
		t.Errorf("m is at %#x, %v", a, ok)
	}
	if _, ok := k.Address("percpu"); ok {
		t.Error("percpu has an address")
	}
	if _, err := parseKallsyms([]byte("0000000000000000 T a\n")); !errors.Is(err, ErrHidden) {
		t.Errorf("hidden addresses: %v", err)
	}
}

func TestParseCPUs(t *testing.T) {
	for _, c := range []struct{ list, want string }{
		{"0", "[0]"}, {"0-3", "[0 1 2 3]"}, {"0-1,4,6-7", "[0 1 4 6 7]"},
		{"", ""}, {"3-1", ""}, {"x", ""}, {"0-99999", ""}, {"1,0", ""},
	} {
		cpus, err := parseCPUs(c.list)
		if got := fmt.Sprint(cpus); (err != nil) != (c.want == "") || err == nil && got != c.want {
			t.Errorf("%q: %s, %v", c.list, got, err)
		}
	}
}

func TestFieldTypes(t *testing.T) {
	for _, c := range []struct{ cat, line, want string }{
		{"x", "char comm[16];\toffset:8;\tsize:16;\tsigned:0;", "comm string[16] @8+16"},
		{"x", "char comm[TASK_COMM_LEN];\toffset:8;\tsize:16;\tsigned:0;", "comm string[16] @8+16"},
		{"x", "unsigned long addr;\toffset:8;\tsize:8;\tsigned:0;", "addr uint64 @8+8"},
		{"x", "enum foo mode;\toffset:8;\tsize:4;\tsigned:0;", "mode uint32 @8+4"},
		{"x", "bool on;\toffset:8;\tsize:1;\tsigned:0;", "on bool @8+1"},
		{"x", "u8 mac[6];\toffset:8;\tsize:6;\tsigned:0;", "mac uint8[6] @8+6"},
		{"x", "__u8 saddr[4];\toffset:8;\tsize:4;\tsigned:0;", "saddr uint8[4] @8+4"},
		{"x", "struct thing v[2];\toffset:8;\tsize:24;\tsigned:0;", "v uint8[24] @8+24"},
		{"x", "unsigned long args[6];\toffset:8;\tsize:48;\tsigned:0;", "args uint64[6] @8+48"},
		{"x", "__data_loc char[] name;\toffset:8;\tsize:4;\tsigned:0;", "name string abs @8+4"},
		{"x", "__u8 saddr[sizeof(struct sockaddr_in6)];\toffset:8;\tsize:28;\tsigned:0;", "saddr uint8[28] @8+28"},
		{"x", "__rel_loc char[] name;\toffset:8;\tsize:4;\tsigned:0;", "name string rel @8+4"},
		{"x", "const struct file * f;\toffset:8;\tsize:8;\tsigned:0;", "f struct file * kernel @8+8"},
		{"x", "void * p;\toffset:8;\tsize:8;\tsigned:0;", "p void * kernel @8+8"},
		{"x", "int (*fn)(void);\toffset:8;\tsize:8;\tsigned:0;", "fn void * kernel @8+8"},
		{"syscalls", "const char * filename;\toffset:24;\tsize:8;\tsigned:0;", "filename int8 * user @24+8"},
		{"syscalls", "const char *const * argv;\toffset:24;\tsize:8;\tsigned:0;", "argv int8 * * user @24+8"},
		{"x", "struct odd v;\toffset:8;\tsize:12;\tsigned:0;", "v uint8[12] @8+12"},
		{"x", "int x;\toffset:-1;\tsize:4;", ""},
		{"x", "int x;\tsize:4;", ""},
		{"x", "int x;\toffset:1;\tsize:99999999;", ""},
		{"x", ";offset:1;size:1;", ""},
		{"x", "[;offset:1;size:1;", ""},
		{"x", "];[;offset:1;size:1;", ""},
	} {
		f, err := parseField(c.line, c.cat == "syscalls", Recorded(t.TempDir()))
		if err != nil {
			if c.want != "" {
				t.Errorf("%q: %v", c.line, err)
			}
			continue
		}
		got := f.Name + " " + f.Type.String()
		if p, ok := f.Type.(*types.Pointer); ok {
			got += " " + p.Space.String()
		}
		got += map[types.DataLoc]string{types.DataLocAbs: " abs", types.DataLocRel: " rel"}[f.DataLoc]
		got += fmt.Sprintf(" @%d+%d", f.Offset, f.Bytes)
		if got != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.line, got, c.want)
		}
	}
}

func FuzzParseFormat(f *testing.F) {
	_, text, _ := strings.Cut(machine, "format --\n")
	f.Add(text)
	f.Add("\tfield:__data_loc char[] name;\toffset:8;\tsize:4;\tsigned:0;\n")
	f.Fuzz(func(t *testing.T, text string) {
		format, err := ParseFormat("syscalls", "x", text, nil)
		if err != nil {
			return
		}
		for _, field := range format.Struct().Fields() {
			if field.Type == nil || field.Name == "" || field.Offset > maxRecord {
				t.Errorf("%+v", field)
			}
			field.Type.Size()
		}
	})
}

func FuzzParseKallsyms(f *testing.F) {
	f.Add([]byte("ffffffff81000010 T b\nffffffffc0000000 t m\t[ext4]\n"), uint64(1)<<63)
	f.Fuzz(func(t *testing.T, data []byte, addr uint64) {
		k, err := parseKallsyms(data)
		if err != nil {
			return
		}
		k.Lookup(addr)
		k.Address("b")
	})
}

func TestTraceability(t *testing.T) {
	m := record(t, `
-- proc/kallsyms --
ffffffff81000000 T vfs_read
ffffffff81000100 T do_int3
ffffffff81000200 t quiet
ffffffff81000300 D data
-- sys/kernel/tracing/available_filter_functions --
vfs_read
-- sys/kernel/tracing/events/header_page --
-- sys/kernel/debug/kprobes/blacklist --
0xffffffff81000100-0xffffffff81000110	do_int3
`)
	for name, want := range map[string]Traceability{
		"vfs_read": Traceable, "do_int3": Forbidden, "quiet": NoTrace, "data": NoFunction, "nosuch": NoFunction,
	} {
		if got := m.Traceability(name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
	for name, want := range map[string]bool{"rcu_read_lock": true, "default_idle": true, "vfs_read": false} {
		if Unsafe(name) != want {
			t.Errorf("Unsafe(%s) = %t", name, !want)
		}
	}
}
