package attach

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/btf"
	"github.com/hawktrace/hawk/internal/insn"
	"github.com/hawktrace/hawk/internal/probe"
)

// A probe of user space is put only where the kernel gets the traced program
// past it rightly. That is decided here, where all sites of all mechanisms
// come by on their way to the kernel, by the bytes that are in the file then.

// errUnsafe is why no probe is put on a place: the traced program would not do
// what it does without.
type errUnsafe struct{ err error }

func (e *errUnsafe) Error() string { return e.err.Error() }
func (e *errUnsafe) Unwrap() error { return e.err }

// steppable leaves out the sites at which a probe would change what the traced
// program does. Of patterns they are counted by r; else they are an error.
func steppable(sites []probe.Site, o *probe.Options, r *Refusals) ([]probe.Site, error) {
	var kept []probe.Site
	for _, file := range byFile(sites) {
		f, err := openCode(file[0].Path, o)
		if err != nil {
			return nil, fmt.Errorf("what instructions of %s a probe would be put on cannot be read: %w",
				file[0].Path, err)
		}
		for _, s := range file {
			err := s.Unsafe
			if err == nil {
				err = f.check(s)
			}
			if err == nil {
				kept = append(kept, s)
			} else if err = r.Add(s.Point, &errUnsafe{err}); err != nil {
				f.Close()
				return nil, err
			}
		}
		f.Close()
	}
	return kept, nil
}

// code is a file whose instructions are looked at.
type code struct {
	*os.File
	set insn.Set
	o   *probe.Options
}

func openCode(path string, o *probe.Options) (*code, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // never waits at a FIFO
	if err != nil {
		return nil, err
	}
	c := &code{File: f, set: insn.Native(o.Machine.Arch().GoArch), o: o}
	ident := make([]byte, elf.EI_NIDENT)
	if _, err := f.ReadAt(ident, 0); err == nil && string(ident[:4]) == elf.ELFMAG &&
		elf.Class(ident[elf.EI_CLASS]) == elf.ELFCLASS32 {
		c.set = c.set.Narrow()
	}
	return c, nil
}

// around reads the instructions at an offset: n bytes, or less at the end of
// the file, and what is in front of them.
func (c *code) around(offset uint64, n int) (before, at []byte, err error) {
	back := min(uint64(c.set.Before()), offset)
	b := make([]byte, int(back)+n)
	got, err := c.ReadAt(b, int64(offset-back))
	switch {
	case err != nil && err != io.EOF:
		return nil, nil, err
	case got <= int(back):
		return nil, nil, io.ErrUnexpectedEOF
	}
	return b[:back], b[back:got], nil
}

// check reports why no probe must be put on a site.
func (c *code) check(s probe.Site) error {
	if c.set == 0 {
		return nil // the kernel knows better
	}
	const ahead = 4 // instructions among which another place is looked for
	before, at, err := c.around(s.Offset, ahead*insn.MaxLen)
	if err != nil {
		return fmt.Errorf("%s at offset 0x%x: the instruction there cannot be read: %w", s.Path, s.Offset, err)
	}
	how, why := c.set.Step(at)
	switch {
	case how == insn.Rewritten && rewritesNops(c.o):
		why = "this kernel puts a call in its place, and a child that the program forks does not have what is called"
	case how != insn.Never && c.set.InExclusive(before):
		why = insn.Between
	case how != insn.Never:
		return nil
	}
	n := max(c.set.Len(at), 1)
	return fmt.Errorf("%s at offset 0x%x: no probe can be put on the instruction there (% x): %s%s",
		s.Path, s.Offset, at[:min(n, len(at))], why, c.instead(s, before, at))
}

// instead names the next instruction that a probe can be put on, if what is in
// front of it only falls through to it.
func (c *code) instead(s probe.Site, before, at []byte) string {
	if s.Point.Func == "" || s.Point.Kind.Name != "uprobe" || !s.Entry {
		return ""
	}
	off := c.set.Len(at)
	if off == 0 || c.set.Leaves(at) || off >= len(at) {
		return ""
	}
	for next := off; next < len(at); {
		rest := at[next:]
		how, _ := c.set.Step(rest)
		switch n := c.set.Len(rest); {
		case n == 0:
			return ""
		case (how == insn.Stepped || how == insn.Emulated) && !c.set.InExclusive(slices.Concat(before, at[:next])):
			return fmt.Sprintf("; %s+%d can be probed instead", s.Point.Func, next)
		case c.set.Leaves(rest):
			return ""
		default:
			next += n
		}
	}
	return ""
}

// rewritesNops reports whether the kernel puts a call in place of a nop with a probe,
// as Linux 6.18 does, if it does not tell. A forked child has the call, but not the
// page that it leads to, and ends by SIGSEGV.
func rewritesNops(o *probe.Options) bool {
	if o.Machine.Arch().GoArch != "amd64" {
		return false
	}
	s, err := o.Machine.BTF()
	if err != nil {
		return true
	}
	_, err = s.Find("arch_uprobe_optimize", btf.Set(btf.Func))
	return err == nil
}

// isUnsafe reports whether an error is a refusal of hawk's own.
func isUnsafe(err error) bool {
	var e *errUnsafe
	return errors.As(err, &e)
}
