package compile

import (
	"fmt"
	"os"
	"testing"

	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
)

// BenchmarkCompile compiles scripts as a fresh process does: nothing is known
// of the machine at first. It needs the running kernel's types and tracefs.
func BenchmarkCompile(b *testing.B) {
	if _, err := os.Stat("/sys/kernel/btf/vmlinux"); err != nil {
		b.Skip("this kernel does not offer its types: ", err)
	}
	for _, c := range []struct{ name, script string }{
		{"hello", `begin { printf("hello\n"); }`},
		{"raw_syscalls", `tracepoint:raw_syscalls:sys_enter { @[comm] = count(); }`},
		{"openat", `tracepoint:syscalls:sys_enter_openat { printf("%s %s\n", comm, str(args.filename)); }`},
		{"wildcard", `tracepoint:syscalls:sys_enter_* { @[probe] = count(); }`},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				res, ds := Compile(source.NewFile("stdin", c.script),
					Options{Probe: probe.Options{Machine: new(machine.Machine)}})
				if res == nil {
					ds.Print(os.Stderr, source.PrintOptions{})
					b.Fatal("does not compile")
				}
			}
		})
	}
}

// BenchmarkLarge compiles generated scripts of many statements: the time for
// each statement must not grow with their number.
func BenchmarkLarge(b *testing.B) {
	for _, c := range largeScripts {
		for _, n := range []int{1000, 4000} {
			b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) {
				text := c.script(n)
				for b.Loop() {
					Compile(source.NewFile("stdin", text), Options{Probe: probe.Options{Machine: machine.Host()}})
				}
			})
		}
	}
}
