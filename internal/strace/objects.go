package strace

import (
	"cmp"
	"debug/elf"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/value"
)

// mainName is what filters call the program by, whatever its file is called.
const mainName = "MAIN"

// Layout of how a function of a library is told apart: where in its page it is, which is where the library's
// pages begin in memory too, below the number of the page.
const (
	pageBits  = 12
	pageShift = 40
)

// A page is one of a library's code that has functions to trace.
//
// Where a library lies in a process is not known beforehand, unlike the program, whose place the kernel has
// at hand. What is known is where in its page a function begins: so the functions of each page have a probe
// of their own, which knows the page. An offset within a page is the same in the file and in
// every process, since mappings begin at pages.
type page struct {
	file  string
	start uint64
	entry bool // of functions, not of calls through the linkage table
}

// libraries are the files whose calls and functions are traced beside the program's: those that it is linked
// with, what else the process has mapped, and those that filters name by their paths. One file
// may go by several names; each is traced once.
func libraries(program string, mapped []string, terms map[string][]term) []string {
	files := exe.Libraries(program)
	// Files are known by what links lead to.
	real := map[string]bool{}
	for _, file := range append(slices.Clone(files), program) {
		whole, _ := filepath.EvalSymlinks(file)
		real[whole] = true
	}
	add := func(file string) {
		if whole, err := filepath.EvalSymlinks(file); err == nil && !real[whole] && exe.Check(whole) == nil {
			real[whole] = true
			files = append(files, file)
		}
	}
	for _, file := range mapped {
		add(file)
	}
	for _, name := range [...]string{"filter", "static"} {
		for _, t := range terms[name] {
			if filepath.IsAbs(t.of) {
				add(t.of)
			}
		}
	}
	return files
}

// reaches reports whether functions of other files than the program can be chosen by terms.
// Reading the libraries' symbols takes a while, so that it is not done in vain.
func reaches(terms []term) bool {
	return slices.ContainsFunc(terms, func(t term) bool { return !t.without && t.of != mainName })
}

// addLibraries finds what is to be traced in libraries: calls that they make, which -e and -l choose, and
// functions that they have, by -x. A library that cannot be read is passed over: the program may
// run without it.
func (c *chooser) addLibraries(files []string) {
	for _, file := range files {
		if f, err := exe.Open(file); err == nil {
			c.addLibrary(file, f)
			f.Close()
		}
	}
}

// loads are functions to which a library that calls them is another caller than the program.
const loads words = " dlopen dlmopen "

// addLibrary finds what is to be traced in one library.
func (c *chooser) addLibrary(file string, f *exe.File) {
	// Filters name a library by the last part of its path, or by all of it.
	base := filepath.Base(file)
	here := func() []string { return []string{base, file} }
	calls := c.Results && !f.Unwinds() // have results
	// The C library has functions that change stacks, which are in the way only of who calls them.
	_, libc := f.Symbol("__libc_start_main")
	functions := c.Results && (libc || calls)
	add := func(s exe.Symbol, fn function, entry bool) {
		name := strings.TrimSuffix(s.Name, exe.ImportSuffix)
		fn.key, fn.name = name, c.called(name)
		fn.alone = keeps.has(name) || asks.has(name) || loads.has(name) || entry && !functions || !entry && !calls
		fn.before, fn.place = value.Escape(base)+"->", strconv.Quote(s.Name)
		if entry {
			fn.before, fn.after, fn.place = "", "@"+value.Escape(base), fmt.Sprintf("%#x", s.Addr)
		} else if strings.ContainsAny(s.Name, unwritable) {
			c.Unwritten++
			return
		}
		c.addPaged(page{file, s.Addr &^ (1<<pageBits - 1), entry}, s.Addr, &fn)
	}
	// Calls of the C library and its linker themselves are shown if they are named: each malloc() of printf()
	// would be there.
	_, linker := f.Symbol("__tls_get_addr")
	own := (libc || linker) && !slices.ContainsFunc(c.terms["filter"], func(t term) bool {
		return !t.without && t.library != nil && (t.library(base) || t.library(file))
	})
	if (reaches(c.terms["filter"]) || c.terms["library"] != nil) && !own {
		for _, s := range f.Imports(nil) {
			name := strings.TrimSuffix(s.Name, exe.ImportSuffix)
			if !isStartFiles(name, c.terms["filter"]) &&
				(chosen(c.terms["filter"], name, here) || c.ofLibrary(name)) {
				add(s, c.find(name), false)
			}
		}
	}
	if !reaches(c.terms["static"]) {
		return
	}
	seen := map[uint64]bool{}
	for _, s := range f.Functions(nil) {
		if s.Size == 0 || s.Type != elf.STT_FUNC || seen[s.Addr] || f.IsGoCode(s.Addr) ||
			!chosen(c.terms["static"], s.Name, here) {
			continue
		}
		seen[s.Addr] = true
		add(s, c.atEntry(file, s), true)
	}
}

// addPaged adds a function of a library. The number of a page counts from 1, so that no function
// of the program has the same place.
func (p *Program) addPaged(at page, addr uint64, fn *function) {
	n := slices.Index(p.pages, at)
	if n < 0 {
		n = len(p.pages)
		p.pages = append(p.pages, at)
	}
	p.calls[uint64(n+1)<<pageShift|addr&(1<<pageBits-1)] = fn
	p.paged++
	if !fn.alone {
		p.paged++
	}
}

// pagesText are the probes of functions of libraries.
//
// Where a call goes through the tables of several files, and then to a function that is traced, the stack
// pointer is the same in all of them: what is further in is told apart by being a byte or two
// lower. The probes are text behind the script, since its own attach points cannot know of
// libraries.
func (p *Program) pagesText(b *strings.Builder) {
	for i, at := range p.pages {
		n, lower := uint64(i)+1, 1
		if at.entry {
			lower = 2
		}
		// All functions of a page share one body.
		list := func(kind string, wanted func(fn *function) bool) bool {
			first := true
			for _, id := range order.Sorted(maps.Keys(p.calls), cmp.Compare) {
				if id>>pageShift != n || !wanted(p.calls[id]) {
					continue
				}
				if !first {
					b.WriteString(",\n")
				}
				first = false
				fmt.Fprintf(b, "%s:%q:%s", kind, at.file, p.calls[id].place)
			}
			return !first
		}
		list("uprobe", func(*function) bool { return true })
		fmt.Fprintf(b, `
/is_target/
{
  enters(@plan, @call, (uint64)%#x | (pc() & 0xfff), reg("sp") - %d, caller());
}
`, n<<pageShift, lower)
		if list("uretprobe", func(fn *function) bool { return !fn.alone }) {
			fmt.Fprintf(b, `
/is_target/
{
  returns(@plan, @call, @calls, reg("sp") - getopt("slot", 8) - %d, retval);
}
`, lower)
		}
	}
}
