// Package probetest is what the tests of the rooms of package probe share:
// machines made up for them, and attach points as the front end reads them.
package probetest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"

	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/probe"
)

// Recorded is a machine with a few tracepoints, types and functions; features
// are what its kernel can do, "" for everything.
func Recorded(t *testing.T, features string) *machine.Machine {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, data []byte) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("uname", []byte("x86_64 6.12.0\n"))
	if features != "" {
		write("features", []byte(features))
	}
	write("sys/kernel/btf/vmlinux", kernelTypes(t))
	const tracing = "sys/kernel/tracing/"
	events := ""
	event := func(name string, id int, fields ...string) {
		common := []string{
			"unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;",
			"unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;",
			"unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;",
			"int common_pid;\toffset:4;\tsize:4;\tsigned:1;",
		}
		text := fmt.Sprintf("name: x\nID: %d\nformat:\n\tfield:%s\n\n\tfield:%s\n\nprint fmt: \"\"\n",
			id, strings.Join(common, "\n\tfield:"), strings.Join(fields, "\n\tfield:"))
		write(tracing+"events/"+strings.Replace(name, ":", "/", 1)+"/format", []byte(text))
		events += name + "\n"
	}
	const nr = "int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;"
	event("syscalls:sys_enter_openat", 700, nr, "int dfd;\toffset:16;\tsize:8;\tsigned:0;",
		"const char * filename;\toffset:24;\tsize:8;\tsigned:0;")
	event("syscalls:sys_enter_read", 701, nr, "unsigned int fd;\toffset:16;\tsize:8;\tsigned:0;")
	event("syscalls:sys_exit_read", 702, nr, "long ret;\toffset:16;\tsize:8;\tsigned:1;")
	event("raw_syscalls:sys_enter", 30, "long id;\toffset:8;\tsize:8;\tsigned:1;",
		"unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;")
	event("sched:sched_switch", 40, "char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;",
		"pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;")
	event("sched:sched_wakeup", 41, "pid_t pid;\toffset:8;\tsize:4;\tsigned:1;")
	event("mine:probe", 99, "unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;")
	write(tracing+"available_events", []byte(events))
	write(tracing+"available_filter_functions",
		[]byte("vfs_read\nvfs_write\nvfs_read.part.0\nmany\nnotypes\next4_read [ext4]\nvfs_read [ext4]\n"))
	write("proc/modules", []byte("ext4 100 1 - Live 0x0\n"))
	return machine.Recorded(dir)
}

// kernelTypes is a blob of what the mechanisms look up.
func kernelTypes(t *testing.T) []byte {
	t.Helper()
	u32 := &btf.Int{Name: "unsigned int", Size: 4}
	long := &btf.Int{Name: "long", Size: 8, Encoding: btf.Signed}
	task := &btf.Struct{Name: "task_struct", Size: 32, Members: []btf.Member{{Name: "thread_info", Type: &btf.Struct{
		Name: "thread_info", Size: 16, Members: []btf.Member{
			{Name: "flags", Type: long}, {Name: "status", Type: u32, Offset: 64},
		},
	}}}}
	regs := &btf.Struct{Name: "pt_regs", Size: 8, Members: []btf.Member{{Name: "di", Type: long}}}
	file := &btf.Struct{Name: "file", Size: 8, Members: []btf.Member{{Name: "f_pos", Type: long}}}
	void := &btf.Pointer{Target: &btf.Void{}}
	char := &btf.Int{Name: "char", Size: 1, Encoding: btf.Signed}
	short := &btf.Int{Name: "short", Size: 2, Encoding: btf.Signed}
	fn := func(name string, ret btf.Type, params ...btf.FuncParam) *btf.Func {
		return &btf.Func{Name: name, Linkage: btf.StaticFunc, Type: &btf.FuncProto{Return: ret, Params: params}}
	}
	p := func(name string, typ btf.Type) btf.FuncParam { return btf.FuncParam{Name: name, Type: typ} }
	tracepoint := func(name string, params ...btf.FuncParam) []btf.Type {
		params = append([]btf.FuncParam{p("__data", void)}, params...)
		proto := &btf.FuncProto{Return: &btf.Void{}, Params: params}
		return []btf.Type{
			&btf.Typedef{Name: "btf_trace_" + name, Type: &btf.Pointer{Target: proto}},
			fn("__probestub_"+name, &btf.Void{}, params...),
		}
	}
	all := []btf.Type{task, regs}
	all = append(all, tracepoint("sys_enter", p("regs", &btf.Pointer{Target: regs}), p("id", long))...)
	all = append(all, tracepoint("sys_exit", p("regs", &btf.Pointer{Target: regs}), p("ret", long))...)
	all = append(all, tracepoint("sched_switch", p("preempt", &btf.Int{Name: "_Bool", Size: 1, Encoding: btf.Bool}),
		p("prev", &btf.Pointer{Target: task}))...)
	all = append(all,
		fn("vfs_read", long, p("file", &btf.Pointer{Target: file}), p("buf", &btf.Pointer{Target: char}),
			p("count", u32), p("how", short)),
		fn("vfs_write", &btf.Void{}, p("file", &btf.Pointer{Target: file})),
		fn("many", long, p("a", long), p("b", long), p("c", long), p("d", long), p("e", long),
			p("f", long), p("g", long)),
	)
	b, err := btf.NewBuilder(all, nil)
	if err != nil {
		t.Fatal(err)
	}
	blob, err := b.Marshal(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return blob
}

// RecordedMachine is a machine of an architecture, with kernel symbols.
func RecordedMachine(t *testing.T, arch, kallsyms string) *machine.Machine {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "proc"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"uname": arch + " 6.12.0", "proc/kallsyms": kallsyms} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return machine.Recorded(dir)
}

// Parse splits a simple attach point as the front end does; a part in quotes
// is literal.
func Parse(text string, o *probe.Options) (*probe.Point, error) {
	words := strings.Split(text, ":")
	var parts []probe.Part
	for _, w := range words[1:] {
		lit := strings.Contains(w, `"`)
		parts = append(parts, probe.Part{Text: strings.ReplaceAll(w, `"`, ""), Literal: lit})
	}
	k, _ := probe.Lookup(words[0])
	p := &probe.Point{Kind: k}
	return p, k.Parse(p, parts, o)
}
