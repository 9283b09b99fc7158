package cli

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/target"
)

// info is --info: what this kernel offers, in lines that scripts grep.
func (c *command) info() int {
	if err := c.target.Privileges(); err != nil {
		return c.fail(exitUsage, err)
	}
	has := func(f *target.Feature) bool { return !c.noFeature[f.Name] && c.target.Has(f) == nil }
	_, btfErr := c.target.BTF()
	_, iterErr := c.target.Iterator("task")
	var b strings.Builder
	b.WriteString("System\n")
	var u unix.Utsname
	if err := unix.Uname(&u); err == nil {
		fmt.Fprintf(&b, "  OS: %s %s %s\n  Arch: %s\n", unix.ByteSliceToString(u.Sysname[:]),
			unix.ByteSliceToString(u.Release[:]), unix.ByteSliceToString(u.Version[:]), unix.ByteSliceToString(u.Machine[:]))
	}
	fmt.Fprintf(&b, "\nBuild\n  version: %s\n  go: %s\n  arch: %s\n  libdw (DWARF support): no\n", Version, runtime.Version(), runtime.GOARCH)

	section(&b, "Kernel helpers", []item{
		// A program may ask for the path of a file from fentry probes only,
		// which are younger than the helper on every kernel hawk runs on.
		{"dpath", has(target.Fentry)},
		{"get_tai_ns", has(target.KtimeTAI)},
		{"get_func_ip", has(target.GetFuncIP)},
		{"lookup_percpu_elem", has(target.MapLookupPerCPU)},
		{"loop", has(target.BPFLoop)},
	})
	b.WriteString("\nKernel features\n")
	writeColumns(&b, []string{
		"Instruction limit: 1000000",
		item{"btf", btfErr == nil}.String(),
		item{"module btf", btfErr == nil && len(c.target.BTFModules()) > 0}.String(),
	})
	section(&b, "Probe types", []item{
		{"kprobe_multi", has(target.KprobeMulti)},
		{"uprobe_multi", has(target.UprobeMulti)},
		{"kprobe_session", has(target.KprobeSession)},
		{"iter", iterErr == nil},
	})
	b.WriteString("\nTracing\n")
	_, err := c.target.Tracefs()
	writeReason(&b, "tracefs", err)
	for _, f := range target.Features() {
		err := c.target.Has(f)
		if c.noFeature[f.Name] {
			err = errors.New("switched off")
		}
		writeReason(&b, f.Name, err)
	}
	return c.tell(b.String())
}

type item struct {
	name string
	has  bool
}

func (i item) String() string {
	if i.has {
		return i.name + ": yes"
	}
	return i.name + ": no"
}

func section(b *strings.Builder, title string, items []item) {
	b.WriteString("\n" + title + "\n")
	var words []string
	for _, i := range items {
		words = append(words, i.String())
	}
	writeColumns(b, words)
}

// writeColumns writes two items a line, the second at column 35.
func writeColumns(b *strings.Builder, words []string) {
	for i, w := range words {
		if i%2 == 1 || i == len(words)-1 {
			if i%2 == 0 {
				w = "  " + w
			}
			b.WriteString(w + "\n")
			continue
		}
		fmt.Fprintf(b, "  %-33s", w)
	}
}

// writeReason writes a feature and, if it is missing, what the kernel said.
func writeReason(b *strings.Builder, name string, err error) {
	if err == nil {
		fmt.Fprintf(b, "  %s: yes\n", name)
		return
	}
	var u *target.Unsupported
	if errors.As(err, &u) {
		err = u.Err
	}
	fmt.Fprintf(b, "  %s: no (%s)\n", name, errno.Message(err))
}
