package probe

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// recorded is a machine with a few tracepoints, types and functions; features
// are what its kernel can do, "" for everything.
func recorded(t *testing.T, features string) *machine.Machine {
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
			"unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;", "unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;",
			"unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;", "int common_pid;\toffset:4;\tsize:4;\tsigned:1;",
		}
		text := fmt.Sprintf("name: x\nID: %d\nformat:\n\tfield:%s\n\n\tfield:%s\n\nprint fmt: \"\"\n",
			id, strings.Join(common, "\n\tfield:"), strings.Join(fields, "\n\tfield:"))
		write(tracing+"events/"+strings.Replace(name, ":", "/", 1)+"/format", []byte(text))
		events += name + "\n"
	}
	const nr = "int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;"
	event("syscalls:sys_enter_openat", 700, nr, "int dfd;\toffset:16;\tsize:8;\tsigned:0;", "const char * filename;\toffset:24;\tsize:8;\tsigned:0;")
	event("syscalls:sys_enter_read", 701, nr, "unsigned int fd;\toffset:16;\tsize:8;\tsigned:0;")
	event("syscalls:sys_exit_read", 702, nr, "long ret;\toffset:16;\tsize:8;\tsigned:1;")
	event("raw_syscalls:sys_enter", 30, "long id;\toffset:8;\tsize:8;\tsigned:1;", "unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;")
	event("sched:sched_switch", 40, "char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;", "pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;")
	event("sched:sched_wakeup", 41, "pid_t pid;\toffset:8;\tsize:4;\tsigned:1;")
	event("mine:probe", 99, "unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;")
	write(tracing+"available_events", []byte(events))
	write(tracing+"available_filter_functions", []byte("vfs_read\nvfs_write\nvfs_read.part.0\nmany\nnotypes\next4_read [ext4]\nvfs_read [ext4]\n"))
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
		fn("vfs_read", long, p("file", &btf.Pointer{Target: file}), p("buf", &btf.Pointer{Target: char}), p("count", u32), p("how", short)),
		fn("vfs_write", &btf.Void{}, p("file", &btf.Pointer{Target: file})),
		fn("many", long, p("a", long), p("b", long), p("c", long), p("d", long), p("e", long), p("f", long), p("g", long)),
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

// A case of testdata/emit is a file with lines of settings, then golden
// sections "plan" and one "ir" for each group.
//
//	points  attach points, parsed and matched
//	uses    words: args argN retval probe func
//	features, pid, no-feature
func TestEmit(t *testing.T) {
	files, err := filepath.Glob("testdata/emit/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := runEmit(t, string(ar.Comment))
			if *update {
				ar.Files = []txtar.File{{Name: "out", Data: []byte(got)}}
				if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want := ""
			if len(ar.Files) > 0 {
				want = string(ar.Files[0].Data)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func runEmit(t *testing.T, settings string) string {
	t.Helper()
	o := &Options{NoFeature: map[string]bool{}}
	var uses Uses
	var fields, args []string
	var texts []string
	features := ""
	for line := range strings.Lines(settings) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		switch words[0] {
		case "points":
			texts = words[1:]
		case "features":
			features = strings.Join(words[1:], "\n") + "\n"
		case "no-feature":
			o.NoFeature[words[1]] = true
		case "pid":
			fmt.Sscan(words[1], &o.PID)
			o.PIDFilter = true
		case "fields":
			fields = words[1:]
			uses.Args = true
		case "args":
			args = words[1:]
			uses.ArgN = 6
		case "uses":
			for _, w := range words[1:] {
				switch w {
				case "retval":
					uses.Retval = true
				case "probe":
					uses.Probe = true
				case "func":
					uses.Func = true
				default:
					t.Fatalf("unknown use %s", w)
				}
			}
		default:
			t.Fatalf("unknown setting %s", words[0])
		}
	}
	o.Machine = recorded(t, features)
	var out bytes.Buffer
	var points []*Point
	var kind *Kind
	for _, text := range texts {
		p, err := parse(text, o)
		if err != nil {
			return "error: " + err.Error() + "\n"
		}
		kind = p.Kind
		if p.Kind.Name == "usdt" {
			points = append(points, usdtPoints(p, text)...)
			continue
		}
		found, err := p.Kind.Match(p, o)
		if err != nil {
			return "error: " + err.Error() + "\n"
		}
		points = append(points, found...)
	}
	groups, err := kind.Plan(points, uses, o)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	for _, g := range groups {
		fmt.Fprintf(&out, "group by %s (%v %d)\n", g.Mech.Name, g.Mech.Program, g.Mech.Attach)
		for _, p := range g.Points {
			fmt.Fprintf(&out, "\t%s\n", p.Name())
		}
		emit(t, &out, g, uses, fields, args, o)
	}
	return out.String()
}

// usdtPoints makes up the notes of a probe: two locations that read their
// argument alike, and one that does not.
func usdtPoints(p *Point, _ string) []*Point {
	return matchNotes(p, &Options{}, p.Target, []exe.Note{
		{Provider: "p", Name: "tick", Args: "-4@%ebx 8@-96(%rbp,%rax,8) 1@%ah", Offset: 0x10},
		{Provider: "p", Name: "tick", Args: "-4@%ebx 8@-96(%rbp,%rax,8) 1@%ah", Offset: 0x20},
		{Provider: "p", Name: "tick", Args: "-4@$7 2@(%rsi)", Offset: 0x30, SemaphoreOffset: 0x99},
		{Provider: "p", Name: "tock", Args: "", Offset: 0x40},
	})
}

// emit prints a program that evaluates everything once.
func emit(t *testing.T, out *bytes.Buffer, g *Group, uses Uses, fields, args []string, o *Options) {
	t.Helper()
	b := ir.NewBuilder("main", 1)
	skip := b.NewBlock()
	data := 256
	c := &Context{B: b, Ctx: b.Param(0, ir.Ptr), Group: g, O: o, Skip: skip, Table: func(d []byte) int {
		fmt.Fprintf(out, "table of %d bytes at %d\n", len(d), data)
		data += len(d)
		return data - len(d)
	}}
	if g.Mech.Guard != nil {
		g.Mech.Guard(c)
	}
	keep := func(v *ir.Value) { b.Store(b.Data(0), 0, 8, v) }
	if uses.Probe && len(g.Points) > 1 && g.Mech.Index != nil {
		keep(g.Mech.Index(c))
	}
	for _, a := range args {
		var n int
		fmt.Sscan(a, &n)
		keep(g.Mech.Arg(c, n))
	}
	for _, name := range fields {
		s, err := g.Points[0].Kind.Args(g.Points[0], o)
		if err != nil {
			t.Fatal(err)
		}
		f, ok := s.Field(name)
		if !ok {
			t.Fatalf("%s has no field %s", s, name)
		}
		if g.Mech.Field != nil {
			if v := g.Mech.Field(c, f); v != nil {
				keep(v)
				continue
			}
		}
		keep(b.Load(g.Mech.Record(c), f.Offset, min(8, f.Type.Size()), false))
	}
	if uses.Retval {
		keep(g.Mech.Retval(c))
	}
	if uses.Func {
		keep(g.Mech.Func(c))
	}
	b.Jump(skip)
	b.Begin(skip)
	b.Ret(b.Const(g.Points[0].Kind.Return))
	p := &ir.Prog{Name: "main", Funcs: []*ir.Func{b.Fn}}
	if err := ir.Verify(p); err != nil {
		t.Errorf("%v\n%s", err, p)
	}
	fmt.Fprintf(out, "%s\n", p)
}

func TestMatch(t *testing.T) {
	o := &Options{Machine: recorded(t, "")}
	for _, tt := range []struct{ text, want string }{
		{"t:sched:sched_switch", "tracepoint:sched:sched_switch"},
		{"t:sched:nosuch", ""},
		{"t:sched:sched_*", "tracepoint:sched:sched_switch tracepoint:sched:sched_wakeup"},
		{"t:*read*", "tracepoint:syscalls:sys_enter_read tracepoint:syscalls:sys_exit_read"},
		{"t:../sched:sched_switch", ""},
		{"rt:sched_switch", "rawtracepoint:vmlinux:sched_switch"},
		{"rt:sys_*", "rawtracepoint:vmlinux:sys_enter rawtracepoint:vmlinux:sys_exit"},
		{"rt:vmlinux:nosuch", ""},
		{"k:vfs_read", "kprobe:vfs_read"},
		{"k:vfs_*", "kprobe:vfs_read kprobe:vfs_write"}, // without fragments, each name once
		{"k:*:vfs_*", "kprobe:ext4:vfs_read kprobe:vmlinux:vfs_read kprobe:vmlinux:vfs_write"},
		{"k:ext4:*", "kprobe:ext4:ext4_read kprobe:ext4:vfs_read"},
		{"k:nomod:vfs_read", ""},
		{"k:nosuch", ""},
		{"kr:vfs_writ?", "kretprobe:vfs_write"},
		{"f:vfs_write", "fentry:vmlinux:vfs_write"},
		{"f:vmlinux:vfs_*", "fentry:vmlinux:vfs_read fentry:vmlinux:vfs_write"},
		{"f:vmlinux:*", "fentry:vmlinux:vfs_read fentry:vmlinux:vfs_write"}, // not with 7 arguments, not without types
		{"f:vfs_read", "! ambiguous attach point, please specify module containing the function 'vfs_read' (vmlinux, ext4)"},
		{"f:notypes", "! No BTF found for notypes."},
		{"f:many", "fentry:vmlinux:many"},
	} {
		p, err := parse(tt.text, o)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		points, err := p.Kind.Match(p, o)
		var names []string
		for _, q := range points {
			names = append(names, q.Name())
		}
		got := strings.Join(names, " ")
		if err != nil {
			got = "! " + err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: %s\nwant %s", tt.text, got, tt.want)
		}
	}
}

func TestList(t *testing.T) {
	o := &Options{Machine: recorded(t, ""), Verbose: true}
	for _, tt := range []struct {
		kind  string
		parts []Part
		want  string
	}{
		{"tracepoint", []Part{{Text: "sched_sw*"}}, "tracepoint:sched:sched_switch | char prev_comm[16] | pid_t prev_pid"},
		{"kprobe", []Part{{Text: "vfs_read"}}, "kprobe:vfs_read | struct file * arg0 | char * arg1 | unsigned int arg2 | short arg3"},
		{"kretprobe", []Part{{Text: "vfs_read"}}, "kretprobe:vfs_read | long retval"},
		{"kretprobe", []Part{{Text: "vfs_write"}}, "kretprobe:vfs_write | void"},
		{"fexit", []Part{{Text: "vfs_write"}}, "fexit:vmlinux:vfs_write | struct file * file"},
		{"rawtracepoint", []Part{{Text: "sched_switch"}}, "rawtracepoint:vmlinux:sched_switch | _Bool preempt | struct task_struct * prev"},
		{"interval", []Part{{Text: "*s"}}, "interval:ms: interval:s: interval:us:"},
		{"software", []Part{{Text: "c*"}}, "software:context-switches: software:cpu-clock: software:cpu-migrations: software:cpu: software:cs:"},
		{"self", []Part{{Text: "*"}}, "self:signal:SIGUSR1"},
	} {
		k, _ := Lookup(tt.kind)
		var out []string
		err := k.List(k, tt.parts, o, func(l Listed) { out = append(out, strings.Join(append([]string{l.Name}, l.Args...), " | ")) })
		if got := strings.Join(out, " "); err != nil || got != tt.want {
			t.Errorf("%s: %s, %v\nwant %s", tt.kind, got, err, tt.want)
		}
	}
}
