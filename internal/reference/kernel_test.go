package reference_test

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/compile"
	"github.com/hawktrace/hawk/internal/config"
	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/hawktest"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/reference"
	"github.com/hawktrace/hawk/internal/session"
	"github.com/hawktrace/hawk/internal/source"
)

// needs are what kinds of probe ask of a machine, in the words of the kernel
// cases.
var needs = map[string][]string{
	"kprobe": {"kprobe"}, "kretprobe": {"kprobe"}, "fentry": {"fentry"}, "fexit": {"fentry"},
	"uprobe": {"uprobe"}, "uretprobe": {"uprobe"}, "usdt": {"uprobe"},
	"hardware": {"perf_hw"}, "software": {"perf_sw"}, "profile": {"perf_sw"}, "interval": {"perf_sw"},
	"iter": {"kernel>=5.11"}, "watchpoint": {"perf_hw"},
}

var (
	kindWord = regexp.MustCompile(`\b([a-z]+):[\w*/.{]`)
	fileName = regexp.MustCompile(`(?:(?:uprobe|uretprobe|usdt):|cgroupid\(")(/[^:"]+)[:"]`)
	symbol   = regexp.MustCompile(`kaddr\("(\w+)"\)`)
	libcUSDT = regexp.MustCompile(`usdt:libc:(\w+)`)
)

// missing says what a script asks for that this machine does not have, "" if
// it can run here.
func missing(t *testing.T, e reference.Example, machine *machine.Machine) string {
	for _, m := range kindWord.FindAllStringSubmatch(e.Script, -1) {
		for _, word := range needs[m[1]] {
			lacks, err := hawktest.Have(word)
			if err != nil {
				t.Fatal(err)
			}
			if lacks != nil {
				return m[1] + ": " + lacks.Error()
			}
		}
	}
	for _, f := range e.Needs {
		if err := machine.Has(f); err != nil {
			return err.Error()
		}
	}
	for _, m := range fileName.FindAllStringSubmatch(e.Script, -1) {
		var fs unix.Statfs_t
		if err := unix.Statfs(m[1], &fs); err != nil {
			return m[1] + ": " + err.Error()
		}
		if strings.Contains(e.Script, "cgroupid(") && fs.Type != unix.CGROUP2_SUPER_MAGIC {
			return m[1] + " is no hierarchy of version 2"
		}
	}
	for _, m := range symbol.FindAllStringSubmatch(e.Script, -1) {
		symbols, err := machine.KernelSymbols()
		if err != nil {
			return err.Error()
		}
		if _, ok := symbols.Address(m[1]); !ok {
			return "the kernel lists no symbol " + m[1]
		}
	}
	for _, m := range libcUSDT.FindAllStringSubmatch(e.Script, -1) {
		if !libcHas(t, m[1]) {
			return "libc has no probe " + m[1]
		}
	}
	return ""
}

// libcHas reports whether the C library was built with a probe.
func libcHas(t *testing.T, name string) bool {
	paths, err := exe.Search{Libraries: true}.Find("libc")
	if err != nil {
		return false
	}
	f, err := exe.Open(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	notes, err := f.USDT()
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(notes, func(n exe.Note) bool { return n.Name == name })
}

// TestKernelExamples compiles every script of the manual, loads it, runs what
// it does at the beginning, and attaches it. The scripts are written for
// current kernels.
func TestKernelExamples(t *testing.T) {
	for _, word := range []string{"root", "kernel>=6.12"} {
		if lacks, err := hawktest.Have(word); err != nil || lacks != nil {
			t.Skipf("%v", lacks)
		}
	}
	machine := machine.Host()
	for _, e := range reference.Examples() {
		t.Run(e.Section+"/"+e.Name, func(t *testing.T) {
			if lacks := missing(t, e, machine); lacks != "" {
				t.Skip(lacks)
			}
			po := probe.Options{Machine: machine, Unsafe: true, Named: config.Named{}}
			var messages bytes.Buffer
			res, ds := compile.Compile(source.NewFile("example", e.Script), compile.Options{Probe: po})
			ds.Print(&messages, source.PrintOptions{NoWarnings: true})
			if res == nil || ds.HasErrors() {
				t.Fatalf("%s\n%s", e.Script, &messages)
			}
			s, err := session.Load(session.Spec{Program: session.New(res), Probe: po})
			if err != nil {
				t.Fatalf("%s\n%v", e.Script, err)
			}
			defer s.Close()
			_, err = s.Run(context.Background(), session.Options{
				Sink: output.NewText(io.Discard, &messages, output.Options{}), Stderr: &messages, DryRun: true,
			})
			if err != nil || strings.Contains(messages.String(), "ERROR") {
				t.Errorf("%s\n%v\n%s", e.Script, err, &messages)
			}
		})
	}
}
