package strace

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/value"
)

// A Program is one whose calls of libraries are shown, as ltrace(1) does.
type Program struct {
	*Options
	Results bool // are known
	Indent  int  // of calls that are made by calls, in blanks
	Signals bool // are shown
	calls   map[uint64]*function
	sites   []string // names of the probes, of calls, in quotes
	returns []string
	// Unwritten are functions that are not traced where names are listed, as theirs cannot be written.
	Unwritten int
	// patterns are those of the names, in quotes, if the names are what they match.
	patterns []string
}

// NewProgram reads the options of ltrace for a program in a file.
func NewProgram(file string, o *Options, given map[string][]string) (*Program, error) {
	o.Column, o.Quoting = 50, octal
	p := &Program{Options: o, Signals: given["no-signals"] == nil, calls: map[uint64]*function{}}
	terms := map[string][]term{}
	for _, name := range []string{"filter", "library", "static"} {
		for _, text := range given[name] {
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
	if values := given["indent"]; values != nil {
		last := values[len(values)-1]
		var err error
		if p.Indent, err = strconv.Atoi(last); err != nil || p.Indent < 0 {
			return nil, fmt.Errorf("invalid value for --indent: %s", last)
		}
	}
	if given["call-times"] != nil {
		o.Took = true
	}
	if err := o.Read(given); err != nil {
		return nil, err
	}
	if o.extremes() {
		return nil, fmt.Errorf("cannot sort by %s", o.Sort)
	}
	f, err := exe.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p.Results = !f.Unwinds()
	of := libraryNames(file)
	start, _ := f.CodeSpan()
	add := func(s exe.Symbol, name string) {
		fn := findFunction(name)
		fn.name = value.Escape(exe.DemangleName(name))
		fn.alone = !p.Results || keeps[name]
		p.calls[s.Addr-start] = &fn
		if strings.ContainsAny(s.Name, "\",*$") { // which attach points and lists of them cannot hold
			p.Unwritten++
			return
		}
		p.sites = append(p.sites, `"`+s.Name+`"`)
		if !fn.alone {
			p.returns = append(p.returns, `"`+s.Name+`"`)
		}
	}
	imports := f.Imports(nil)
	var names []string
	wanted := append(slices.Clone(terms["filter"]), terms["library"]...)
	for _, s := range imports {
		name := strings.TrimSuffix(s.Name, exe.ImportSuffix)
		names = append(names, name)
		if name == "__libc_start_main" { // what main() runs in
			continue
		}
		if len(wanted) == 0 || chosen(wanted, name, func() string { return of(name) }) {
			add(s, name)
		}
	}
	if static := terms["static"]; static != nil {
		for _, s := range f.Functions(nil) {
			if s.Size > 0 && !f.IsGoCode(s.Addr) && chosen(static, s.Name, func() string { return "" }) {
				add(s, s.Name)
			}
		}
	}
	if len(wanted) == 0 {
		wanted, _ = filter("*")
	}
	if terms["static"] == nil {
		for _, glob := range globs(wanted, names) {
			p.patterns = append(p.patterns, `"`+glob+exe.ImportSuffix+`"`)
		}
	}
	if p.patterns != nil {
		p.Unwritten = 0
	}
	switch {
	case len(p.sites) > 0:
	case len(imports) > 0:
		return nil, fmt.Errorf("of the %d functions of libraries that %s calls none is chosen", len(imports), file)
	default:
		return nil, fmt.Errorf("%s calls no functions of libraries by a linkage table\n"+
			"HINT: it may be static or built with -fno-plt; hawk trace shows functions of any file", file)
	}
	return p, nil
}

// keeps are functions on whose return no probe can be, or that have none.
var keeps = map[string]bool{"setjmp": true, "_setjmp": true, "sigsetjmp": true, "__sigsetjmp": true,
	"getcontext": true, "backtrace": true, "longjmp": true, "_longjmp": true, "siglongjmp": true,
	"__longjmp_chk": true, "exit": true, "_exit": true, "_Exit": true, "abort": true, "quick_exit": true,
	"pthread_exit": true, "__stack_chk_fail": true, "__assert_fail": true, "err": true,
	"errx": true, "_start": true}

// Probes is how many probes there will be.
func (p *Program) Probes() int { return len(p.sites) + len(p.returns) }

// Script are the options of the script by name, and what is added to it: what is copied for each call.
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
	if p.Arch == "arm64" { // where the return address is in a register
		given["link"], given["slot"] = []string{"true"}, []string{"0"}
	}
	if p.Summary != "" {
		given["summary-only"] = []string{"true"}
	}
	if !p.Signals {
		given["no-signals"] = []string{"true"}
	}
	var b strings.Builder
	b.WriteString("\nbegin\n{\n")
	for _, at := range slices.SortedFunc(maps.Keys(p.calls), cmp.Compare[uint64]) {
		if plan := p.calls[at].plan(); plan != 0 {
			fmt.Fprintf(&b, "  @plan[%d] = (uint64)%#x;\n", at, plan)
		}
	}
	b.WriteString("}\n")
	return given, b.String()
}
