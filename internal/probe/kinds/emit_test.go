package kinds

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/probe/probetest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

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
	o := &probe.Options{NoFeature: map[string]bool{}}
	var uses probe.Uses
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
	o.Machine = probetest.Recorded(t, features)
	var out bytes.Buffer
	var points []*probe.Point
	var kind *probe.Kind
	for _, text := range texts {
		p, err := probetest.Parse(text, o)
		if err != nil {
			return "error: " + err.Error() + "\n"
		}
		kind = p.Kind
		if p.Kind.Name == "usdt" {
			points = append(points, usdtPoints(p)...)
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
		fmt.Fprintf(&out, "group by %s (%v %d)\n", g.Mech().Name, g.Mech().Program, g.Mech().Attach)
		for _, p := range g.Points {
			fmt.Fprintf(&out, "\t%s\n", p.Name())
		}
		emit(t, &out, g, uses, fields, args, o)
	}
	return out.String()
}

// usdtPoints are the marks of a pattern with made-up notes: one at two locations
// that read their argument alike and one that does not; "*" matches one without
// arguments too.
func usdtPoints(p *probe.Point) []*probe.Point {
	mark := func(name string, notes ...exe.Note) *probe.Point {
		q := *p
		q.Provider, q.Func, q.Notes = "p", name, notes
		return &q
	}
	points := []*probe.Point{mark("tick",
		exe.Note{Provider: "p", Name: "tick", Args: "-4@%ebx 8@-96(%rbp,%rax,8) 1@%ah", Offset: 0x10},
		exe.Note{Provider: "p", Name: "tick", Args: "-4@%ebx 8@-96(%rbp,%rax,8) 1@%ah", Offset: 0x20},
		exe.Note{Provider: "p", Name: "tick", Args: "-4@$7 2@(%rsi)", Offset: 0x30, SemaphoreOffset: 0x99})}
	if p.Func == "*" {
		points = append(points, mark("tock", exe.Note{Provider: "p", Name: "tock", Offset: 0x40}))
	}
	return points
}

// emit prints a program that evaluates everything once.
func emit(t *testing.T, out *bytes.Buffer, g *probe.Group, uses probe.Uses, fields, args []string, o *probe.Options) {
	t.Helper()
	b := ir.NewBuilder("main", 1)
	skip := b.NewBlock()
	data := 256
	c := &probe.Context{B: b, Ctx: b.Param(0, ir.Ptr), Group: g, O: o, Skip: skip, Table: func(d []byte) int {
		fmt.Fprintf(out, "table of %d bytes at %d\n", len(d), data)
		data += len(d)
		return data - len(d)
	}}
	if g.Mech().Guard != nil {
		g.Mech().Guard(c)
	}
	keep := func(v *ir.Value) { b.Store(b.Data(0), 0, 8, v) }
	if uses.Probe && len(g.Points) > 1 && g.Mech().Index != nil {
		keep(g.Mech().Index(c))
	}
	for _, a := range args {
		var n int
		fmt.Sscan(a, &n)
		keep(g.Mech().Arg(c, n))
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
		if g.Mech().Field != nil {
			if v := g.Mech().Field(c, f); v != nil {
				keep(v)
				continue
			}
		}
		keep(b.Load(g.Mech().Record(c), f.Offset, min(8, f.Type.Size()), false))
	}
	if uses.Retval {
		keep(g.Mech().Retval(c))
	}
	if uses.Func {
		keep(g.Mech().Func(c))
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
	o := &probe.Options{Machine: probetest.Recorded(t, "")}
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
		{"f:vfs_read", "! ambiguous attach point, please specify module containing the function 'vfs_read' " +
			"(vmlinux, ext4)"},
		{"f:notypes", "! No BTF found for notypes."},
		{"f:many", "fentry:vmlinux:many"},
	} {
		p, err := probetest.Parse(tt.text, o)
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
	o := &probe.Options{Machine: probetest.Recorded(t, ""), Verbose: true}
	for _, tt := range []struct {
		kind  string
		parts []probe.Part
		want  string
	}{
		{"tracepoint", []probe.Part{{Text: "sched_sw*"}}, "tracepoint:sched:sched_switch | char prev_comm[16] | " +
			"pid_t prev_pid"},
		{"kprobe", []probe.Part{{Text: "vfs_read"}}, "kprobe:vfs_read | struct file * arg0 | char * arg1 | " +
			"unsigned int arg2 | short arg3"},
		{"kretprobe", []probe.Part{{Text: "vfs_read"}}, "kretprobe:vfs_read | long retval"},
		{"kretprobe", []probe.Part{{Text: "vfs_write"}}, "kretprobe:vfs_write | void"},
		{"fexit", []probe.Part{{Text: "vfs_write"}}, "fexit:vmlinux:vfs_write | struct file * file"},
		{"rawtracepoint", []probe.Part{{Text: "sched_switch"}}, "rawtracepoint:vmlinux:sched_switch | _Bool " +
			"preempt | struct task_struct * prev"},
		{"interval", []probe.Part{{Text: "*s"}}, "interval:ms: interval:s: interval:us:"},
		{"software", []probe.Part{{Text: "c*"}}, "software:context-switches: software:cpu-clock: " +
			"software:cpu-migrations: software:cpu: software:cs:"},
		{"self", []probe.Part{{Text: "*"}}, "self:signal:SIGUSR1"},
	} {
		k, _ := probe.Lookup(tt.kind)
		var out []string
		err := k.List(k, tt.parts, o, func(l probe.Listed) {
			line := l.Name
			for _, d := range l.Details {
				line += " | " + d.Text
			}
			out = append(out, line)
		})
		if got := strings.Join(out, " "); err != nil || got != tt.want {
			t.Errorf("%s: %s, %v\nwant %s", tt.kind, got, err, tt.want)
		}
	}
}
