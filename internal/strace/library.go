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

	"github.com/hawktrace/hawk/internal/dwarf"
	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/value"
)

// A Program is one whose calls of libraries are shown, as ltrace(1) does.
type Program struct {
	*Options
	Results bool // are known
	Indent  int  // of calls that are made by calls, in blanks
	Signals bool // are shown
	// By how far the call, or the function's entry in the linkage table, is from the start of the
	// code.
	calls map[uint64]*function
	sites []string // names of the probes, of calls, in quotes
	// As sites, of those whose return is traced.
	returns []string
	start   uint64 // of the code
	// places are call sites and the places that they return to, by how far they are from the beginning of
	// the code: bits of site… say which of both.
	places map[uint64]uint64
	// behind are how long the instructions are that call, by the same.
	behind map[uint64]uint64
	Frames int // of stacks, -w
	name   string
	// Warnings are about files that were read.
	Warnings []string
	// Passed are calls that are not traced, as no symbol says that they are instructions.
	Passed int
	// Unwritten are functions that are not traced where names are listed, as theirs cannot be written.
	Unwritten int
	// entry and main are where a program starts that is linked statically, and where its own code does: what
	// is called in between is not shown. Nil of others.
	entry, main *function
	// pages are those of libraries in which functions are traced; paged is how many probes these have.
	pages    []page
	paged    int
	System   bool // -S: system calls are shown
	Attached bool // to a process, which runs already
	// Mangled says that functions of C++ are shown by their symbols.
	Mangled bool
	// patterns are those of the names, in quotes, if the names are what they match.
	patterns []string
}

// NewProgram reads the options of ltrace for a program in a file, and finds the calls to trace.
//
// There are five kinds. A function of a library called through the linkage table has one entry
// there, and one probe serves all of its calls. Code built with -fno-plt calls through a pointer in
// place, so that each call site gets a probe and each place behind it one for the return. With -x,
// functions of the program itself are traced at their entry, and so are, of a program that is linked statically, those
// whose arguments are known: they are of libraries. Libraries have calls and functions too, see addLibraries; mapped
// are those that a process has. given is emptied of what is ltrace's
// own before the rest is read as options of strace.
func NewProgram(file string, mapped []string, o *Options, given map[string][]string) (*Program, error) {
	// These are the column, the quotes and the padding of ltrace.
	o.Column, o.Quoting, o.Tight = 50, octal, true
	p := &Program{Options: o, Signals: given["no-signals"] == nil, calls: map[uint64]*function{},
		name: filepath.Base(file), places: map[uint64]uint64{}, behind: map[uint64]uint64{}}
	terms, err := readTerms(given)
	if err != nil {
		return nil, err
	}
	known, err := p.readKnown(given["config"])
	if err != nil {
		return nil, err
	}
	delete(given, "config")
	if err := p.readOptions(given); err != nil {
		return nil, err
	}
	f, err := exe.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// A probe on the return replaces the return address on the stack by one of the kernel's. A
	// program that throws exceptions would look it up in its tables, find nothing and terminate.
	p.Results = !f.Unwinds()
	// Addresses are kept relative to it, since a program that is position independent lies
	// elsewhere in each run.
	p.start, _ = f.CodeSpan()
	c := &chooser{Program: p, file: file, terms: terms, known: known, library: libraryNames(file),
		all:   len(terms["filter"]) == 0 && terms["library"] == nil && given["only-chosen"] == nil,
		debug: map[string]*dwarf.File{}}
	// The file is named only where calls of several can be shown.
	if !c.all && (len(terms["filter"]) > 0 || terms["library"] != nil) {
		c.before = value.Escape(filepath.Base(file)) + "->"
	}
	imports := c.addImports(f)
	sites := c.addSites(f)
	c.addFunctions(f)
	if reaches(terms["filter"]) || reaches(terms["static"]) || terms["library"] != nil {
		c.addLibraries(libraries(file, mapped, terms))
	}
	static := len(imports)+sites <= 1 // which the start of such a program has, too
	if static && terms["static"] == nil {
		c.addKnown(f)
	}
	if terms["static"] == nil && terms["library"] == nil && !static {
		wanted := terms["filter"]
		if c.all {
			wanted, _ = filter("*")
		}
		for _, glob := range globs(wanted, imports) {
			p.patterns = append(p.patterns, `"`+glob+exe.ImportSuffix+`"`)
		}
	}
	if p.patterns != nil {
		p.Unwritten = 0
	}
	switch {
	// From here on nothing is to be traced: the error says which of the reasons it is.
	case len(p.calls) > 0 || p.System:
	case given["only-chosen"] != nil && terms["filter"] == nil && terms["static"] == nil: // signals and ends are shown
	case p.Passed > 0:
		return nil, fmt.Errorf("all %d calls of %s are passed over, as no symbol says in which function they stand",
			p.Passed, file)
	case !static:
		return nil, fmt.Errorf("of the %d functions of libraries that %s calls none is chosen", len(imports), file)
	default:
		return nil, fmt.Errorf("%s calls no functions of libraries that are known\n"+
			"HINT: it may have no symbols, or be written in Go; -x shows its own functions, as hawk trace does", file)
	}
	return p, nil
}

// readTerms reads the filters of functions, by the names of the options. The rest of the options is
// strace's to read, which would refuse these.
func readTerms(given map[string][]string) (map[string][]term, error) {
	terms := map[string][]term{}
	for _, name := range []string{"filter", "library", "static"} {
		for _, text := range given[name] {
			// -l takes the name of a library alone.
			if name == "library" {
				text = "@" + text
			}
			more, err := filter(text)
			if err != nil {
				return nil, err
			}
			terms[name] = append(terms[name], more...)
		}
		delete(given, name)
	}
	return terms, nil
}

// readKnown reads files of prototypes. They are lists with colons, as in ltrace.
func (p *Program) readKnown(lists []string) (map[string]function, error) {
	known := map[string]function{}
	for _, list := range lists {
		for path := range strings.SplitSeq(list, ":") {
			warning, err := readPrototypes(path, known)
			if err != nil {
				return nil, err
			}
			if warning != "" {
				p.Warnings = append(p.Warnings, warning)
			}
		}
	}
	return known, nil
}

// readOptions reads the other options of ltrace, and those of strace.
func (p *Program) readOptions(given map[string][]string) error {
	p.System = given["system-calls"] != nil
	if values := given["demangle"]; values != nil {
		p.Mangled = values[len(values)-1] == "false"
	}
	if err := readNumber("indent", given["indent"], 0, &p.Indent); err != nil {
		return err
	}
	if err := readNumber("where", given["where"], 1, &p.Frames); err != nil {
		return err
	}
	if given["call-times"] != nil {
		p.Took = true
	}
	if err := p.Read(given); err != nil {
		return err
	}
	// ltrace has no shortest and longest call, and its script does not keep them.
	if p.extremes() {
		return fmt.Errorf("cannot sort by %s", p.Sort)
	}
	return nil
}

// A chooser finds what of a program and its libraries is traced, and what is known of it.
type chooser struct {
	*Program
	file    string
	terms   map[string][]term
	known   map[string]function      // by prototypes in files
	library func(name string) string // that has a function
	all     bool                     // without filters all that the program itself calls is shown
	before  string                   // in front of names of the program's own calls
	// Debug information of a file is read once, and only where a function of it is traced at its
	// entry.
	debug map[string]*dwarf.File
}

// find is what is known of a function by its name. Prototypes that the user has given win over the table.
func (c *chooser) find(name string) function {
	if fn, ok := c.known[name]; ok {
		return fn
	}
	return findFunction(name)
}

// here are the names by which a filter may call the program: MAIN, that of its file, its path.
func (c *chooser) here() []string { return []string{mainName, filepath.Base(c.file), c.file} }

// wanted reports whether calls of a function are shown that the program makes.
func (c *chooser) wanted(name string) bool {
	if isStartFiles(name, c.terms["filter"]) {
		return false
	}
	return c.all || chosen(c.terms["filter"], name, c.here) || c.ofLibrary(name)
}

// ofLibrary reports whether -l chooses the library that has a function.
func (c *chooser) ofLibrary(name string) bool {
	return chosen(c.terms["library"], name, func() []string { return []string{c.library(name)} })
}

// described is what debug information says of a function; false if there is none, or a prototype in a file.
func (c *chooser) described(file string, s exe.Symbol) (fn function, ok bool) {
	if _, given := c.known[s.Name]; given || c.Debug == nil {
		return fn, false
	}
	d, read := c.debug[file]
	if !read {
		d, _ = c.Debug(file) // without it, what is known of the name
		c.debug[file] = d
	}
	if d == nil {
		return fn, false
	}
	fn, ok = typed(d, s.Addr)
	if len(fn.args) == 0 && fn.result == "v" { // so it is of functions in assembly language, too
		if better, known := knownFunction(s.Name); known {
			return better, true
		}
	}
	return fn, ok
}

// atEntry is what is known of a function that is traced at its entry.
func (c *chooser) atEntry(file string, s exe.Symbol) function {
	if fn, ok := c.described(file, s); ok {
		return fn
	}
	return c.find(s.Name)
}

// add traces a function of the program, or an entry of its linkage table.
func (c *chooser) add(s exe.Symbol, name string, fn function) {
	fn.key, fn.name = name, c.called(name)
	fn.alone = !c.Results || keeps.has(name) || asks.has(name)
	c.calls[s.Addr-c.start] = &fn
	if strings.ContainsAny(s.Name, unwritable) {
		c.Unwritten++
		return
	}
	c.sites = append(c.sites, `"`+s.Name+`"`)
	if !fn.alone {
		c.returns = append(c.returns, `"`+s.Name+`"`)
	}
}

// addImports traces calls through the linkage table, which has an entry for each function, whose symbol
// ends in @plt. It returns the names of all.
func (c *chooser) addImports(f *exe.File) (names []string) {
	for _, s := range f.Imports(nil) {
		name := strings.TrimSuffix(s.Name, exe.ImportSuffix)
		names = append(names, name)
		if c.wanted(name) {
			fn := c.find(name)
			fn.before = c.before
			c.add(s, name, fn)
		}
	}
	return names
}

// addSites traces calls through pointers in place, and returns how many there are.
func (c *chooser) addSites(f *exe.File) int {
	sites, passed := f.CallSites()
	c.Passed = max(passed-1, 0) // the start of a program without symbols has one
	for _, s := range sites {
		at := s.Addr - c.start
		if s.Next != 0 && keeps.has(s.Name) { // longjmp() may come back to it, out of calls
			c.places[s.Next-c.start] |= siteReturns | at<<8
		}
		if !c.wanted(s.Name) {
			continue
		}
		fn := c.find(s.Name)
		fn.before = c.before
		if s.Next == 0 && s.Addr == s.In { // a function that is nothing but a jump
			c.add(exe.Symbol{Name: fmt.Sprintf("%#x", s.Addr), Addr: s.Addr}, s.Name, fn)
			continue
		}
		fn.key, fn.name = s.Name, c.called(s.Name)
		// A jump to a function does not come back here, but to who called the one it stands in.
		fn.alone = s.Next == 0 || keeps.has(s.Name)
		c.calls[at] = &fn
		c.places[at] |= siteCalls
		if s.Next != 0 {
			c.behind[at] = s.Next - s.Addr
			c.places[s.Next-c.start] |= siteReturns | at<<8
		}
	}
	return len(sites)
}

// addFunctions traces functions of the program that -x chooses, at their entry.
func (c *chooser) addFunctions(f *exe.File) {
	own := c.terms["static"]
	if own == nil {
		return
	}
	for _, s := range f.Functions(nil) {
		if s.Size > 0 && !f.IsGoCode(s.Addr) && chosen(own, s.Name, c.here) {
			c.add(s, s.Name, c.atEntry(c.file, s))
		}
	}
}

// addKnown traces, of a program that is linked statically, functions whose arguments are known. Several
// names of one function are one probe: two on one address would show each call twice.
func (c *chooser) addKnown(f *exe.File) {
	names := map[uint64]string{} // one of each address
	for _, s := range f.Functions(nil) {
		fn, ok := c.known[s.Name]
		if !ok {
			fn, ok = knownFunction(s.Name)
		}
		// The code of an indirect function is not the function, but chooses it.
		if !ok || s.Type != elf.STT_FUNC || s.Size == 0 || f.IsGoCode(s.Addr) || names[s.Addr] != "" ||
			!c.all && !chosen(c.terms["filter"], s.Name, c.here) {
			continue
		}
		names[s.Addr] = s.Name
		fn.before = c.before
		c.add(s, s.Name, fn)
	}
	if len(c.calls) > 0 {
		c.entry, c.main = c.mark(f, "_start"), c.mark(f, "main")
	}
}

// isStartFiles reports whether a call is made by start files of the C library. What main() runs in is
// never shown, as it is around everything else and no probe can be put behind its call, where a hlt
// stands; what ends a library is if it is asked for by its name.
func isStartFiles(name string, terms []term) bool {
	switch name {
	case "__libc_start_main":
		return true
	case "__cxa_finalize":
		return !slices.ContainsFunc(terms, func(t term) bool { return t.glob == name })
	}
	return false
}

// unwritable are characters that attach points and lists of them cannot hold.
const unwritable = "\",*$"

// readNumber reads an option that is a number, if it is given.
func readNumber(name string, values []string, least int, into *int) error {
	if values == nil {
		return nil
	}
	last := values[len(values)-1]
	n, err := strconv.Atoi(last)
	if err != nil || n < least {
		return fmt.Errorf("invalid value for --%s: %s", name, last)
	}
	*into = n
	return nil
}

// mark traces a function whose calls are not shown; nil if the program has none of the name, or
// shows it. The call must be seen all the same: between the two nothing is shown.
func (c *chooser) mark(f *exe.File, name string) *function {
	s, ok := f.Symbol(name)
	if !ok || c.calls[s.Addr-c.start] != nil {
		return nil
	}
	returns := c.returns
	c.add(s, name, function{})
	c.returns = returns
	fn := c.calls[s.Addr-c.start]
	fn.alone = true
	return fn
}

// keeps are functions on whose return no probe can be, or that have none. setjmp and alike
// remember the return address, which must not be that of a probe; the others have no return to
// be seen.
const keeps words = "" +
	" setjmp _setjmp sigsetjmp __sigsetjmp getcontext backtrace longjmp _longjmp siglongjmp __longjmp_chk " +
	"exit _exit _Exit abort quick_exit pthread_exit __stack_chk_fail __assert_fail err errx _start "

// asks are functions that look for their callers by their return address, where a probe on the return would
// have put another. What they return is seen behind a call in place alone.
const asks words = " dlsym dlvsym "

// Resultless reports whether there are calls whose results are not shown, as that would be in
// the way. The command warns of it, since a line without a result looks like a mistake.
func (p *Program) Resultless() bool {
	return !p.Results && len(p.sites) > 0
}

// Probes is how many probes there will be. --max-probes bounds it: attaching takes time for
// each, and so does detaching.
func (p *Program) Probes() int { return len(p.sites) + len(p.returns) + len(p.places) + p.paged }

// called is what a function is called in lines, by its symbol. A symbol is text of a file, and
// may hold sequences that a terminal obeys.
func (p *Program) called(symbol string) string {
	if !p.Mangled {
		symbol = exe.Demangle(symbol)
	}
	return value.Escape(symbol)
}

// systemCall is a bit of the number that a system call has in place of where a call is. It is
// above all bits of places: those of libraries go up to pageShift and the number of a page.
const systemCall = 1 << 50

// Bits of a place say what it is; tools/ltrace.bt has the same.
const (
	siteCalls = 1 << iota
	siteReturns
)

// Script are the options of the script by name, and what is added to it: what is copied for each
// call. Lists are sorted, so that one program gives one script.
func (p *Program) Script() (given map[string][]string, more string) {
	given = map[string][]string{"string-limit": {strconv.Itoa(p.Limit)}, "calls": p.sites}
	if p.Results {
		given["returns"] = p.returns
	}
	if p.patterns != nil { // many in one go; what has no return is passed over
		given["calls"] = p.patterns
		if p.Results {
			given["returns"] = p.patterns
		}
	}
	for _, at := range order.Sorted(maps.Keys(p.places), cmp.Compare) {
		given["sites"] = append(given["sites"], fmt.Sprintf("%#x", p.start+at))
	}
	// The script finds the caller of a function on amd64 at the stack pointer.
	if p.Arch == "arm64" { // where the return address is in a register
		given["link"], given["slot"] = []string{"true"}, []string{"0"}
	}
	if p.Summary != "" {
		given["summary-only"] = []string{"true"}
	}
	if p.System {
		given["system-calls"] = []string{"true"}
	}
	if p.Pointer && p.Summary == "" {
		given["instruction-pointer"] = []string{"true"}
	}
	if p.Frames > 0 && p.Summary == "" {
		given["where"] = []string{strconv.Itoa(p.Frames)}
	}
	if !p.Signals {
		given["no-signals"] = []string{"true"}
	}
	var b strings.Builder
	// The plans go into a map when the script begins, before anything is attached.
	b.WriteString("\nbegin\n{\n")
	for _, at := range order.Sorted(maps.Keys(p.calls), cmp.Compare) {
		if plan := p.calls[at].plan(); plan != 0 {
			fmt.Fprintf(&b, "  @plan[%d] = (uint64)%#x;\n", at, plan)
		}
	}
	for _, at := range order.Sorted(maps.Keys(p.places), cmp.Compare) {
		fmt.Fprintf(&b, "  @place[%d] = (uint64)%d;\n", at, p.places[at])
	}
	if p.System && p.Summary == "" {
		appendPlans(&b, p.Options, systemCall)
	}
	b.WriteString("}\n")
	p.pagesText(&b)
	return given, b.String()
}
