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
		name: filepath.Base(file)}
	p.System = given["system-calls"] != nil
	if values := given["demangle"]; values != nil {
		p.Mangled = values[len(values)-1] == "false"
	}
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
		// The rest of the options is strace's to read, which would refuse these.
		delete(given, name)
	}
	known := map[string]function{} // by prototypes in files
	// Files of prototypes are a list with colons, as in ltrace.
	for _, list := range given["config"] {
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
	delete(given, "config")
	// Prototypes that the user has given win over the table.
	find := func(name string) function {
		if fn, ok := known[name]; ok {
			return fn
		}
		return findFunction(name)
	}
	if err := readNumber(given, "indent", 0, &p.Indent); err != nil {
		return nil, err
	}
	if err := readNumber(given, "where", 1, &p.Frames); err != nil {
		return nil, err
	}
	if given["call-times"] != nil {
		o.Took = true
	}
	if err := o.Read(given); err != nil {
		return nil, err
	}
	// ltrace has no shortest and longest call, and its script does not keep them.
	if o.extremes() {
		return nil, fmt.Errorf("cannot sort by %s", o.Sort)
	}
	f, err := exe.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// A probe on the return replaces the return address on the stack by one of the kernel's. A
	// program that throws exceptions would look it up in its tables, find nothing and terminate.
	p.Results = !f.Unwinds()
	of := libraryNames(file)
	// Addresses are kept relative to it, since a program that is position independent lies
	// elsewhere in each run.
	start, _ := f.CodeSpan()
	// fn.alone: its return gets no probe.
	add := func(s exe.Symbol, name string, fn function) {
		fn.key, fn.name = name, p.called(name)
		fn.alone = !p.Results || keeps.has(name)
		p.calls[s.Addr-start] = &fn
		if strings.ContainsAny(s.Name, unwritable) {
			p.Unwritten++
			return
		}
		p.sites = append(p.sites, `"`+s.Name+`"`)
		if !fn.alone {
			p.returns = append(p.returns, `"`+s.Name+`"`)
		}
	}
	p.start, p.places, p.behind = start, map[uint64]uint64{}, map[uint64]uint64{}
	imports := f.Imports(nil)
	var names []string
	// Without filters all that the program itself calls is shown.
	wanted := terms["filter"]
	chosenAll := len(wanted) == 0 && terms["library"] == nil && given["only-chosen"] == nil
	// The file is named only where calls of several can be shown.
	before := ""
	if !chosenAll && (len(wanted) > 0 || terms["library"] != nil) {
		before = value.Escape(filepath.Base(file)) + "->"
	}
	// A filter may call the program MAIN, by the name of its file or by its path.
	here := func() []string { return []string{mainName, filepath.Base(file), file} }
	isWanted := func(name string) bool {
		if isStartFiles(name, wanted) {
			return false
		}
		return chosenAll || chosen(wanted, name, here) ||
			chosen(terms["library"], name, func() []string { return []string{of(name)} })
	}
	// The linkage table has an entry for each function, whose symbol ends in @plt.
	for _, s := range imports {
		name := strings.TrimSuffix(s.Name, exe.ImportSuffix)
		names = append(names, name)
		if isWanted(name) {
			fn := find(name)
			fn.before = before
			add(s, name, fn)
		}
	}
	sites, passed := f.CallSites()
	p.Passed = max(passed-1, 0) // the start of a program without symbols has one
	for _, s := range sites {
		if s.Next != 0 && keeps.has(s.Name) { // longjmp() may come back to it, out of calls
			p.places[s.Next-start] |= siteReturns | (s.Addr-start)<<8
		}
		if !isWanted(s.Name) {
			continue
		}
		if s.Next == 0 && s.Addr == s.In { // a function that is nothing but a jump
			fn := find(s.Name)
			fn.before = before
			add(exe.Symbol{Name: fmt.Sprintf("%#x", s.Addr), Addr: s.Addr}, s.Name, fn)
			continue
		}
		fn := find(s.Name)
		fn.key, fn.name, fn.before = s.Name, p.called(s.Name), before
		// A jump to a function does not come back here, but to who called the one it stands in.
		fn.alone = s.Next == 0 || keeps.has(s.Name)
		p.calls[s.Addr-start] = &fn
		p.places[s.Addr-start] |= siteCalls
		if s.Next != 0 {
			p.behind[s.Addr-start] = s.Next - s.Addr
			p.places[s.Next-start] |= siteReturns | (s.Addr-start)<<8
		}
	}
	// Debug information of a file is read once, and only where a function of it is traced at its
	// entry.
	debug := map[string]*dwarf.File{}
	typedAt := func(file string, s exe.Symbol) (fn function, ok bool) {
		if _, given := known[s.Name]; given || o.Debug == nil {
			return fn, false
		}
		d, read := debug[file]
		if !read {
			d, _ = o.Debug(file) // without it, what is known of the name
			debug[file] = d
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
	if own := terms["static"]; own != nil {
		for _, s := range f.Functions(nil) {
			if s.Size > 0 && !f.IsGoCode(s.Addr) && chosen(own, s.Name, here) {
				fn := find(s.Name)
				if described, ok := typedAt(file, s); ok {
					fn = described
				}
				add(s, s.Name, fn)
			}
		}
	}
	if reaches(wanted) || reaches(terms["static"]) || terms["library"] != nil {
		p.addLibraries(libraries(file, mapped, terms), terms, of, find, typedAt)
	}
	static := len(imports)+len(sites) <= 1 // which the start of such a program has, too
	if static && terms["static"] == nil {
		// Several names of one function are one probe: two on one address would show each call
		// twice.
		names := map[uint64]string{} // one of each address
		for _, s := range f.Functions(nil) {
			fn, ok := known[s.Name]
			if !ok {
				fn, ok = knownFunction(s.Name)
			}
			// The code of an indirect function is not the function, but chooses it.
			if !ok || s.Type != elf.STT_FUNC || s.Size == 0 || f.IsGoCode(s.Addr) || names[s.Addr] != "" ||
				!chosenAll && !chosen(wanted, s.Name, here) {
				continue
			}
			names[s.Addr] = s.Name
			fn.before = before
			add(s, s.Name, fn)
		}
		if len(p.calls) > 0 {
			p.entry, p.main = p.mark(f, "_start", add), p.mark(f, "main", add)
		}
	}
	if chosenAll {
		wanted, _ = filter("*")
	}
	if terms["static"] == nil && terms["library"] == nil && !static {
		for _, glob := range globs(wanted, names) {
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
func readNumber(given map[string][]string, name string, least int, into *int) error {
	values := given[name]
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
func (p *Program) mark(f *exe.File, name string, add func(s exe.Symbol, name string, fn function)) *function {
	s, ok := f.Symbol(name)
	if !ok || p.calls[s.Addr-p.start] != nil {
		return nil
	}
	returns := p.returns
	add(s, name, function{})
	p.returns = returns
	fn := p.calls[s.Addr-p.start]
	fn.alone = true
	return fn
}

// keeps are functions on whose return no probe can be, or that have none. setjmp and alike
// remember the return address, which must not be that of a probe; the others have no return to
// be seen.
const keeps words = "" +
	" setjmp _setjmp sigsetjmp __sigsetjmp getcontext backtrace longjmp _longjmp siglongjmp __longjmp_chk " +
	"exit _exit _Exit abort quick_exit pthread_exit __stack_chk_fail __assert_fail err errx _start "

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
