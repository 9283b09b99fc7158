package user

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/proc"
)

// The files that probes of user space name, and the symbols in them.

// findFiles lists the files that the target of a point names.
func findFiles(p *probe.Point, o *probe.Options) ([]string, error) {
	s := exe.Search{Unsafe: o.Unsafe, Libraries: true}
	if o.OnePID() {
		s.PID = o.PID
	} else if p.Target == "" {
		return nil, fmt.Errorf("%s should have a target", p.Kind.Name)
	}
	files, err := s.Find(p.Target)
	if err != nil {
		return nil, probe.Hint(fmt.Errorf("%s %w", p.Kind.Name, err), whyNoFile(p, s))
	}
	// PATH can have several programs of a name, of which a shell would run the first.
	if len(files) > 1 && !strings.Contains(p.Target, "*") && !strings.HasPrefix(p.Target, proc.MemoryPrefix) {
		o.Warn(p, "attaching to %s target file '%s' but matched %d binaries", p.Kind.Name, files[0], len(files))
		files = files[:1]
	}
	return files, nil
}

// eachFile opens the files of a point. Where a pattern covers many, those
// that cannot be read are passed over.
func eachFile(p *probe.Point, o *probe.Options, f func(path string, file *exe.File) error) error {
	paths, err := findFiles(p, o)
	if err != nil {
		return err
	}
	for _, path := range paths {
		file, err := o.Machine.Executables.Open(path)
		if err == nil {
			err = f(path, file)
			file.Close()
		}
		if err != nil && !strings.Contains(p.Target, "*") {
			return err
		}
	}
	return nil
}

// withDebugFile calls f with the file, then with its separate debug file if
// it has one, until f returns true.
func withDebugFile(file *exe.File, o *probe.Options, f func(*exe.File) bool) {
	if f(file) {
		return
	}
	// The debug file has the symbols that stripping took away, at the same addresses.
	if d := file.OwnDebugFile(o.Root(), o.Machine.DebugDirs...); d != nil {
		f(d)
	}
}

// lookUp finds a symbol in the file or in its separate debug file.
func lookUp(file *exe.File, o *probe.Options, find func(*exe.File) (exe.Symbol, bool)) (sym exe.Symbol, found bool) {
	withDebugFile(file, o, func(f *exe.File) bool {
		sym, found = find(f)
		return found
	})
	return sym, found
}

// matchUprobe finds the places of a uprobe, in all files that its target names.
func matchUprobe(p *probe.Point, o *probe.Options) ([]*probe.Point, error) {
	return matchSymbols(p, o, false)
}

// matchUretprobe is matchUprobe for returns, which some functions do not survive.
func matchUretprobe(p *probe.Point, o *probe.Options) ([]*probe.Point, error) {
	return matchSymbols(p, o, true)
}

// matchSymbols matches in each file. Listing shows files of other machines, too; attaching
// refuses them.
func matchSymbols(p *probe.Point, o *probe.Options, returns bool) ([]*probe.Point, error) {
	var out []*probe.Point
	err := eachFile(p, o, func(path string, file *exe.File) error {
		if err := foreign(file, o.Machine.Arch()); err != nil && !o.ForListing {
			return err
		}
		points, err := matchFile(p, o, path, file, returns)
		out = append(out, points...)
		return err
	})
	if errors.Is(err, exe.ErrNotELF) && o.Unsafe && p.Func == "" && p.Pattern.Source == nil && !returns {
		return rawPlace(p, o)
	}
	return probe.SortPoints(out), err
}

// rawPlace is an offset into a file of which hawk knows nothing but that
// programs may map and run it.
func rawPlace(p *probe.Point, o *probe.Options) ([]*probe.Point, error) {
	paths, err := findFiles(p, o)
	if err != nil {
		return nil, err
	}
	o.Warn(p, "%s is no ELF file: the probe is at byte 0x%x of it; one that is not at the start of an instruction "+
		"can crash traced programs", paths[0], p.Address)
	q := *p
	q.Target, q.Place = paths[0], &probe.Place{Offset: p.Address}
	return []*probe.Point{&q}, nil
}

// matchFile finds the points of an attach point in one file: at a source line, an address, a
// function or those that a pattern matches.
func matchFile(p *probe.Point, o *probe.Options, path string, file *exe.File, returns bool) ([]*probe.Point, error) {
	q := *p
	q.Target = path
	q.Memory, _ = proc.MemoryName(path)
	if src := p.Pattern.Source; src != nil {
		addr, err := resolveLine(src, &q, o)
		if err != nil {
			return nil, err
		}
		q.Address = addr
	}
	if p.Func == "" {
		q.Place = addressPlace(&q, o, file, returns)
		return []*probe.Point{&q}, nil
	}
	// Only returns need it, and it takes a look at all symbols.
	var facts *returnFacts
	if returns {
		facts = returnFactsOf(file, o)
	}
	if p.Provider == "" && !p.Pattern.Fn.HasWild() {
		// One name is looked up by itself: a list of all functions takes a hundred times as long.
		sym, found := lookUp(file, o, func(f *exe.File) (exe.Symbol, bool) { return f.Symbol(p.Func) })
		if !found {
			return nil, nil
		}
		warnChosen(p, o, path, sym)
		q.Place = symbolPlace(&q, o, file, sym, facts)
		return []*probe.Point{&q}, nil
	}
	match := symbolMatcher(p)
	var out []*probe.Point
	withDebugFile(file, o, func(f *exe.File) bool {
		seen := make(map[string]bool, len(out)) // in the file itself
		for _, q := range out {
			seen[q.Func] = true
		}
		functions := f.Functions
		if strings.HasSuffix(p.Func, exe.ImportSuffix) {
			functions = f.Imports
		}
		for _, sym := range functions(match) {
			// A pattern passes over what would be refused by name: stubs of the
			// C runtime, whose end nobody knows.
			if seen[sym.Name] || sym.Size == 0 && !o.Unsafe && !o.ForListing {
				continue
			}
			r := q
			r.Func = sym.Name
			pl := symbolPlace(&r, o, file, sym, facts)
			if errors.Is(pl.Err, errNoReturn) && !o.ForListing {
				continue
			}
			r.Place = pl
			out = append(out, &r)
		}
		// A file with a full table has all that its debug file has.
		return f == file && f.HasSymbols()
	})
	return out, nil
}

// symbolNames are the functions that a misspelt one may have been meant for.
func symbolNames(p *probe.Point, o *probe.Options) []string {
	var out []string
	eachFile(p, o, func(_ string, file *exe.File) error {
		for _, s := range file.Functions(nil) {
			out = append(out, s.Name)
		}
		return nil
	})
	return out
}
