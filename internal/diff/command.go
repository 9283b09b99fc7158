package diff

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/export"
	"github.com/hawktrace/hawk/internal/saved"
	"github.com/hawktrace/hawk/internal/view"
)

// A Command is hawk diff with its options.
type Command struct {
	Old, New  string // files
	Map       string // "": all that both have
	Format    string // of forms, "" is the first
	Normalize bool
	Min       float64 // share that a function must have in one of the runs, in percent
	FailAbove float64 // a change that is an error, in percent; 0: none
	Width     int     // of the terminal that text is for, 0 if there is none
}

// Usage says how hawk diff is called.
const Usage = `hawk diff compares two runs.

USAGE:
    hawk diff [options] OLD NEW

Files are what --save jsonl, html, flame, pprof or folded has written, profiles of pprof and folded stacks of other
tools, and text that a script has printed, hawk's or bpftrace's. Maps of one name are compared.

OPTIONS:
    -f FORMAT              text (default), csv, flame (a page: flame graphs, histograms as outlines, tables), and of
                           stacks folded (stack old new) or pprof; tui shows tables in the terminal
    -o FILE                write to a file; - is standard output, and as OLD or NEW standard input
    --map @NAME            this map alone
    --normalize            both runs weigh the same in all
    --min PERCENT          leave out what weighs less in both
    --fail-above PERCENT   exit with status 1 if a function's share, or a number, changed by more
`

// ErrAbove says that a function's share changed by more than it may.
var ErrAbove = errors.New("changed by more than --fail-above allows")

// Args reads a command line; out is the file of -o.
func (c *Command) Args(args []string) (out string, err error) {
	var files []string
	for i := 0; i < len(args); i++ {
		name, value, has := strings.Cut(args[i], "=")
		next := func() string {
			// A value stands behind an equals sign or is the next word: --map=@a, --map @a.
			if !has && i+1 < len(args) {
				i++
				value, has = args[i], true
			}
			if !has {
				err = fmt.Errorf("option %s needs a value", name)
			}
			return value
		}
		percent := func() float64 {
			text := next()
			n, bad := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
			// NaN fails every comparison: asked this way round, it is refused, too.
			if err == nil && (bad != nil || !(n >= 0)) {
				err = fmt.Errorf("invalid value for %s: %s; it is a percentage", name, text)
			}
			return n
		}
		switch name {
		case "-f":
			c.Format = next()
		case "-o", "--output":
			out = next()
		case "--map":
			if c.Map = next(); !strings.HasPrefix(c.Map, "@") {
				c.Map = "@" + c.Map
			}
		case "--normalize":
			c.Normalize = true
		case "--min":
			c.Min = percent()
		case "--fail-above":
			c.FailAbove = percent()
		default:
			// A dash alone names standard input.
			if strings.HasPrefix(name, "-") && name != "-" {
				return out, fmt.Errorf("unknown option %s", name)
			}
			files = append(files, args[i])
		}
		if err != nil {
			return out, err
		}
	}
	if len(files) != 2 {
		return out, fmt.Errorf("two files are compared, not %d", len(files))
	}
	if c.Old, c.New = files[0], files[1]; c.Old == saved.Dash && c.New == saved.Dash {
		return out, errors.New("standard input is one file; the other needs a name")
	}
	// The format is checked before files are read, which may be large.
	if c.form() == nil {
		var names []string
		for _, f := range forms {
			names = append(names, f.name)
		}
		return out, fmt.Errorf("unknown format %s; there are %s", c.Format, strings.Join(names, ", "))
	}
	// Run writes to a file; the terminal is drawn on by who calls Screen.
	if c.Format == Terminal && out != "" {
		return out, errors.New("-f tui is for the terminal; it cannot be used with -o")
	}
	return out, nil
}

// A form is a value of -f. One that holds a single map has what writes that map: stacks, or a table too.
type form struct {
	name   string
	all    func(*Command, *bufio.Writer, *comparison) error
	stacks func(*bufio.Writer, *Diff, *comparison) error
	table  func(*bufio.Writer, *Table)
}

// forms are the values of -f, the usual one first; that of the terminal is shown by who has one.
var forms = []form{
	{name: "text", all: (*Command).text},
	{name: "csv", table: func(w *bufio.Writer, t *Table) { t.writeCSV(w) },
		stacks: func(w *bufio.Writer, d *Diff, _ *comparison) error { d.writeCSV(w); return nil }},
	{name: "flame", all: func(c *Command, w *bufio.Writer, of *comparison) error {
		return c.page(w, of.pairs, of.title, of.version)
	}},
	{name: "folded", stacks: func(w *bufio.Writer, d *Diff, _ *comparison) error { return d.WriteFolded(w) }},
	{name: "pprof", stacks: writePprof},
	{name: Terminal},
}

// form is the one that -f names, nil if there is none.
func (c *Command) form() *form {
	name := cmp.Or(c.Format, forms[0].name)
	i := slices.IndexFunc(forms, func(f form) bool { return f.name == name })
	if i < 0 {
		return nil
	}
	return &forms[i]
}

// Terminal is the format that Screen is for.
const Terminal = "tui"

// A comparison is what is written: the maps that both runs have, and the names of the others.
type comparison struct {
	pairs          []pair
	alone          []string
	title, version string
}

// A pair is what both runs have of a map: stacks, or a table.
type pair struct {
	name   string
	stacks *Diff
	table  *Table
}

// Run compares the files. The error is ErrAbove if all went well but for what the option says.
func (c *Command) Run(out io.Writer, version string) error {
	pairs, alone, err := c.pairs()
	if err != nil {
		return err
	}
	of := &comparison{pairs, alone, filepath.Base(c.Old) + " → " + filepath.Base(c.New), version}
	w := bufio.NewWriter(out)
	write := c.one
	// Forms without a writer of all maps hold one map, which one chooses.
	if f := c.form(); f != nil && f.all != nil {
		write = func(w *bufio.Writer, of *comparison) error { return f.all(c, w, of) }
	}
	if err := write(w, of); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	// The verdict comes last: the report is out before the exit status says that it is bad.
	return c.above(pairs)
}

// above is ErrAbove with the first thing that changed by more than the option allows.
func (c *Command) above(pairs []pair) error {
	// Pairs are in the order of names: the same files are refused for the same thing each time.
	for _, p := range pairs {
		if name := p.above(c.FailAbove/100, c.Min/100); name != "" {
			return fmt.Errorf("%s %w", name, ErrAbove)
		}
	}
	return nil
}

// text writes each map as a table for people.
func (c *Command) text(w *bufio.Writer, of *comparison) error {
	for i, p := range of.pairs {
		if i > 0 {
			w.WriteByte('\n')
		}
		// A map that is alone is all that the files are about: its name would say nothing new.
		if len(of.pairs) > 1 || len(of.alone) > 0 {
			fmt.Fprintf(w, "%s: ", p.name)
		}
		if p.table != nil {
			p.table.writeText(w, c.Min/100, c.Width)
		} else {
			p.stacks.writeText(w, c.Min/100, c.Width)
		}
	}
	if len(of.alone) > 0 {
		fmt.Fprintf(w, "\nonly in one of the files: %s\n", strings.Join(of.alone, ", "))
	}
	return nil
}

// one writes a form that holds one map.
func (c *Command) one(w *bufio.Writer, of *comparison) error {
	f, pairs := c.form(), of.pairs
	// Forms that write all maps, and the terminal's, have nothing to write one with.
	if f == nil || f.stacks == nil {
		return fmt.Errorf("-f %s is not for a file", c.Format)
	}
	// Tables are passed over, so that a file with one map of stacks needs no --map.
	if f.table == nil {
		pairs = slices.DeleteFunc(slices.Clone(pairs), func(p pair) bool { return p.stacks == nil })
		if len(pairs) == 0 {
			return fmt.Errorf("-f %s is for maps with stacks", c.Format)
		}
	}
	if len(pairs) > 1 {
		return several(pairs)
	}
	if p := pairs[0]; p.table != nil {
		f.table(w, p.table)
		return nil
	}
	return f.stacks(w, pairs[0].stacks, of)
}

// writePprof writes stacks as a profile for pprof.
func writePprof(w *bufio.Writer, d *Diff, of *comparison) error {
	// A profile asks a run for its name alone: neither file's script is the other's.
	run := &view.Run{Begin: view.Begin{Script: &view.Script{Name: of.title}}}
	return export.WriteProfile(w, run, d.profile(), export.Options{Version: of.version})
}

// page writes an HTML file of all maps: stacks as flame graphs that are as wide as the new run and whose colours say
// what became more and what less, histograms as outlines, numbers as tables.
func (c *Command) page(w io.Writer, pairs []pair, title, version string) error {
	d := export.Diff{Heading: title}
	why := ""
	for _, p := range pairs {
		if p.table != nil {
			d.Tables = append(d.Tables, p.table.page(c.Min/100))
			continue
		}
		d.About = "as wide as the new run; orange is more, blue less, by what functions weigh themselves"
		// Stacks of all maps are scaled alike, so that the reason is said once.
		why = cmp.Or(why, p.stacks.Why)
		d.Stacks = append(d.Stacks, p.stacks.tree(cmp.Or(p.name, title)))
	}
	if why != "" {
		d.About += " · " + why
	}
	return d.Write(w, version)
}

// several is the error that asks for a choice, and says what there is to choose from.
func several(pairs []pair) error {
	var names []string
	for _, p := range pairs {
		names = append(names, p.name)
	}
	return fmt.Errorf("there are several maps: choose with --map: %s", strings.Join(names, ", "))
}

// above is what changed by more than a share, "" if nothing did or the share is 0.
func (p *pair) above(share, least float64) string {
	// Without the option nothing is too much.
	if share == 0 {
		return ""
	}
	if p.table != nil {
		if l := p.table.above(share, least); l != nil {
			// A map without keys has its name alone, without brackets.
			return strings.TrimSuffix(p.name+"["+strings.Join(l.key, ", ")+"]", "[]")
		}
		return ""
	}
	// Functions are compared, not stacks: one that is called from elsewhere now has not changed.
	for _, r := range p.stacks.Rows() {
		if max(r.Old, r.New) >= least && max(r.Change(), -r.Change()) > share {
			// Names are out of files, and the message may end up on a terminal.
			return view.Line(r.Name)
		}
	}
	return ""
}

// A side is what one of the files holds.
type side struct {
	file   string
	stacks []*saved.Profile
	end    *view.Run // nil: there are stacks alone
	saved  *saved.File
}

// load reads what a file has of a run: stacks, and the maps of its end.
func load(file string) (*side, error) {
	f, err := saved.Load(file)
	if err != nil {
		return nil, err
	}
	s := &side{file: file, saved: f}
	// The end of a file of stacks alone is nil: it has no tables.
	if s.stacks, err = f.Profiles(); err == nil {
		s.end, err = f.End()
	}
	return s, err
}

// tables are the maps that are compared as such.
func (s *side) tables() (out []*view.Map) {
	if s.end == nil {
		return nil
	}
	for _, m := range s.end.Script.Maps {
		if compared(m) {
			out = append(out, m)
		}
	}
	return out
}

// names are those of all maps; "" stands for stacks whose map is not known.
func (s *side) names() (out []string) {
	for _, p := range s.stacks {
		out = append(out, p.Map)
	}
	for _, m := range s.tables() {
		out = append(out, m.Name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// of are the stacks of a map. Where a file has those of one map and does not say of which, it is this.
func (s *side) of(name string) *saved.Profile {
	for _, p := range s.stacks {
		if p.Map == name || len(s.stacks) == 1 && (p.Map == "" || name == "") {
			return p
		}
	}
	return nil
}

// unclear is the error that one file does not say of which map its stacks are, where the other has those of several.
func (c *Command) unclear(of, other *side) error {
	if c.Map != "" || len(of.stacks) != 1 || of.stacks[0].Map != "" || len(other.stacks) < 2 {
		return nil
	}
	var names []string
	for _, p := range other.stacks {
		names = append(names, p.Map)
	}
	return fmt.Errorf("%s does not say of which map its stacks are: choose with --map: %s", of.file,
		strings.Join(names, ", "))
}

// pairs are the maps of both files, and the names of those that only one has.
func (c *Command) pairs() (out []pair, alone []string, err error) {
	old, err := load(c.Old)
	if err != nil {
		return nil, nil, err
	}
	now, err := load(c.New)
	if err != nil {
		return nil, nil, err
	}
	// A picture of a map without stacks is compared with its table in a file of the whole run.
	for _, s := range [][2]*side{{old, now}, {now, old}} {
		if s[0].end == nil || s[1].end != nil || len(s[0].stacks) > 0 {
			continue
		}
		all, err := s[0].saved.Weighed()
		if err != nil {
			return nil, nil, err
		}
		if len(all) == 1 || c.Map != "" || !slices.Contains(s[1].names(), "") { // else it may be of any
			s[0].stacks = all
		}
	}
	if err := cmp.Or(c.unclear(old, now), c.unclear(now, old)); err != nil {
		return nil, nil, err
	}
	names := slices.Concat(old.names(), now.names())
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		// Stacks whose map is not known are kept: they may be those of the map that was chosen.
		if c.Map != "" && name != c.Map && name != "" {
			continue
		}
		was, is := old.of(name), now.of(name)
		same := func(m *view.Map) bool { return m.Name == name }
		a, b := slices.IndexFunc(old.tables(), same), slices.IndexFunc(now.tables(), same)
		p := pair{name: name}
		switch {
		case was != nil && is != nil:
			if name == "" && (was.Map != "" || is.Map != "") {
				continue // it comes, or came, under its name
			}
			p.stacks, err = Compare(was, is, c.Normalize)
		case a >= 0 && b >= 0:
			p.table, err = newTable(old.end, now.end, old.tables()[a], now.tables()[b], c.Normalize)
		default:
			alone = append(alone, cmp.Or(name, "stacks"))
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		out = append(out, p)
	}
	if len(out) > 0 {
		return out, alone, nil
	}
	// A name that a file lacks is the likeliest mistake: the message lists those that it has.
	for _, s := range []*side{old, now} {
		if c.Map != "" && !slices.Contains(s.names(), c.Map) {
			return nil, nil, fmt.Errorf("%s: it has no map %s; there are: %s", s.file, c.Map,
				strings.Join(s.names(), ", "))
		}
	}
	if len(alone) == 0 {
		return nil, nil, errors.New("there are no maps in the files that can be compared")
	}
	return nil, nil, fmt.Errorf("the files have no map in common: %s", strings.Join(alone, ", "))
}
