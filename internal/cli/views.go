package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/export"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/outfile"
	"github.com/hawktrace/hawk/internal/ui/live"
	"github.com/hawktrace/hawk/internal/view"
)

// A save is what one --save asks for.
type save struct {
	format *export.Format
	file   string
}

// picturing are the options of files that are made of a run.
type picturing struct {
	saves     []save
	prints    []*printing
	saveEvery time.Duration
	mapNames  []string // of --map, nil: all
	now       bool     // what maps hold, not totals
	export    export.Options
}

// pictureOptions are their rows of the table.
func pictureOptions() []option {
	return []option{
		{long: "save", arg: "FORMAT:FILE", group: pictures,
			doc: "write a file of the run beside the output; may be repeated", set: do((*settings).addSave)},
		{long: "save-every", arg: "TIME", group: pictures, doc: "write the files of --save that often, too",
			set: do((*settings).setSaveEvery)},
		{long: "map", arg: "@NAME,…", group: pictures, doc: "files show only these maps",
			set: do((*settings).setMaps)},
		{long: "now", group: pictures, doc: "files hold what maps hold, not totals over the run",
			set: flag(func(s *settings) *bool { return &s.now })},
		{long: "annotate-frames", group: pictures,
			doc: "folded: _[k] for the kernel, _[i] inlined, _[j] made at run time",
			set: flag(func(s *settings) *bool { return &s.export.Annotate })},
		{long: "addresses", group: pictures, doc: "keep places of one function apart",
			set: flag(func(s *settings) *bool { return &s.export.Addresses })},
	}
}

// addSave tells a name without a format from other mistakes: it is easily made.
func (s *settings) addSave(text string) error {
	name, file, ok := strings.Cut(text, ":")
	f := export.Find(name)
	if named := export.FindFile(text); !ok && named != nil {
		return usagef("USAGE: invalid value for --save: %s; it is FORMAT:FILE: type %s:%[1]s", text, named.Name)
	}
	if form := findPrinting(name); form != nil && f == nil && file != "" {
		s.prints = append(s.prints, &printing{form: form, name: file})
		return nil
	}
	if !ok || f == nil || file == "" {
		names := append(export.Names(), printNames()...)
		slices.Sort(names)
		return usagef("USAGE: invalid value for --save: %s; it is FORMAT:FILE, and formats are %s", text,
			strings.Join(names, ", "))
	}
	s.saves = append(s.saves, save{f, file})
	return nil
}

func (s *settings) setSaveEvery(text string) (err error) {
	s.saveEvery, err = period("--save-every", text)
	return err
}

func (s *settings) setMaps(list string) error {
	for name := range strings.SplitSeq(list, ",") {
		if !strings.HasPrefix(name, "@") {
			name = "@" + name
		}
		s.mapNames = append(s.mapNames, name)
	}
	return nil
}

// wantsStamps reports whether a file shows when events were sent. It is asked before it
// is known what the script prints. A stamp makes every record longer, so that it is sent only if
// something shows it.
func (c *command) wantsStamps() bool {
	if f := c.viewFormat(); c.stamp || c.tool == nil && (c.web.asked || f != nil && f.Stamps) {
		return true
	}
	return slices.ContainsFunc(c.saves, func(s save) bool { return s.format.Stamps })
}

// wantsSums reports whether a file shows what the values of histograms come to.
func (c *command) wantsSums() bool {
	f := c.viewFormat()
	return c.web.asked || f != nil && f.Sums || slices.ContainsFunc(c.saves, func(s save) bool { return s.format.Sums })
}

// A target is a file to be made of a run.
type target struct {
	format *export.Format
	maps   []*view.Map
	file   string    // "": to is written to
	to     io.Writer // the output
	stream view.Feed // of a format that is written as things happen
	opened io.Closer // what a stream writes to
	beside bool      // the run goes on if it cannot be written
	broken bool      // it could not be; guarded by saver.streams
}

// lookEvery is how often maps are read for files that show numbers over time.
const lookEvery = 500 * time.Millisecond

// A saver makes files of what a run says.
type saver struct {
	view.Recorder
	script  *view.Script
	options export.Options
	targets []*target
	every   time.Duration // files are written that often while the run lasts, too; 0: not
	wrote   time.Duration // when that was last, by the boot clock

	streams sync.Mutex // for one item at a time

	mu     sync.Mutex // of what follows, and of files: the run does not wait for it before its end
	before []view.Snapshot
	err    error
}

// files is who makes the files that were asked for; nil if none were. Everything that can be
// wrong is found here, before the run: an hour of tracing is not lost to a misspelt directory.
func (c *command) files(script *view.Script, o *object.Object) (*saver, error) {
	f := c.viewFormat()
	if f == nil && len(c.saves) == 0 {
		return nil, nil
	}
	v := &saver{script: script, options: c.export, every: c.saveEvery}
	v.options.Version, v.options.Rates = Version, c.saveEvery > 0
	v.options.Every = cmp.Or(c.every, c.saveEvery)
	if f != nil {
		file := c.output
		if file == outfile.Dash {
			file = ""
		}
		maps, err := f.Choose(v.script, c.mapNames)
		several := f.Takes.One() && len(maps) > 1 && file == ""
		switch {
		case c.tool != nil && c.mapNames == nil && (err != nil || several):
			return nil, c.noFormat(v.script, o)
		case err != nil:
			return nil, fmt.Errorf("-f %s: %w", f.Name, err)
		case several:
			return nil, fmt.Errorf("-f %s shows one map: choose with --map: %s", f.Name, namesOf(maps))
		case f.Binary && file == "" && isTerminal(c.out):
			return nil, fmt.Errorf("-f %s is nothing for a terminal; use -o FILE", f.Name)
		}
		v.add(save{f, file}, maps, target{to: c.out})
	}
	for _, s := range c.saves {
		maps, err := s.format.Choose(v.script, c.mapNames)
		if err != nil {
			return nil, fmt.Errorf("--save %s: %w", s.format.Name, err)
		}
		// A file of each map has a name of its own, which the output has not.
		if s.file == outfile.Dash && s.format.Takes.One() && len(maps) > 1 {
			return nil, fmt.Errorf("--save %s shows one map: choose with --map: %s", s.format.Name, namesOf(maps))
		}
		if c.format == live.Terminal.Name && outfile.Standard(s.file) {
			return nil, fmt.Errorf("-f %s has the terminal; --save %s:%s would write over it", c.format, s.format.Name,
				s.file)
		}
		if s.format.Binary && outfile.Standard(s.file) && isTerminal(c.out) {
			return nil, fmt.Errorf("--save %s is nothing for a terminal; name a file", s.format.Name)
		}
		v.add(s, maps, target{beside: true})
	}
	// The text of the script and a file of --save must not be one file either.
	var own []*target // that the script's text is written to
	if f == nil && c.output != "" {
		own = append(own, &target{format: &export.Format{Name: "the output"}, file: c.output})
	}
	if err := apart(append(own, v.targets...)); err != nil {
		return nil, err
	}
	if err := v.prepare(); err != nil {
		v.drop()
		return nil, err
	}
	return v, nil
}

// apart reports targets that replace each other.
func apart(targets []*target) error {
	for i, t := range targets {
		for _, other := range targets[:i] {
			if t.sameFile(other) {
				return fmt.Errorf("Failed to open output file: %q: both %s and %s would be written there", t.file,
					other.format.Name, t.format.Name)
			}
		}
	}
	return nil
}

// add has a file made of maps, or one of each where a file holds one.
func (v *saver) add(s save, maps []*view.Map, t target) {
	t.format, t.maps, t.file = s.format, maps, s.file
	if !s.format.Takes.One() || len(maps) < 2 && !strings.Contains(s.file, "%m") || len(maps) == 0 {
		v.targets = append(v.targets, &t)
		return
	}
	for _, m := range maps {
		one := t
		one.maps, one.file = []*view.Map{m}, s.fileOf(m)
		v.targets = append(v.targets, &one)
	}
}

func namesOf(maps []*view.Map) string {
	var names []string
	for _, m := range maps {
		names = append(names, m.Name)
	}
	return strings.Join(names, ", ")
}

// fileOf is the file of one of several maps. The name of the map goes in front of the extension,
// by which other programs know the format.
func (s *save) fileOf(m *view.Map) string {
	name := strings.TrimPrefix(m.Name, "@")
	if name == "" {
		name = "map"
	}
	if strings.Contains(s.file, "%m") {
		return strings.ReplaceAll(s.file, "%m", name)
	}
	dir, base := filepath.Split(s.file)
	stem, ok := strings.CutSuffix(base, "."+s.format.Ext)
	if ext := s.format.Ext; ok && stem != "" {
		return dir + stem + "." + name + "." + ext
	}
	ext := filepath.Ext(base)
	return dir + strings.TrimSuffix(base, ext) + "." + name + ext
}

// prepare reports files that cannot be written, and opens those that are written as things happen: they keep
// what they hold until the script has loaded.
func (v *saver) prepare() error {
	for _, t := range v.targets {
		v.Events = v.Events || t.wantsEvents()
		v.Past = v.Past || t.format.Past
		// A service that does not answer is told before the run.
		if t.format.Socket != "" {
			s, err := outfile.Dial(cmp.Or(t.file, t.format.Socket))
			if err != nil {
				return fmt.Errorf("%s: %w", t.format.Name, err)
			}
			t.opened, t.to = s, s
			continue
		}
		if t.file != "" {
			if err := outfile.Check(t.file); err != nil {
				return fmt.Errorf("Failed to open output file: %q: %s", t.file, errno.Reason(err))
			}
		}
		if t.format.Stream == nil {
			continue
		}
		if t.file != "" {
			f, err := outfile.Open(t.file)
			if err != nil {
				return err
			}
			t.opened, t.to = f, f
		}
	}
	return nil
}

// sameFile reports whether two targets replace each other.
func (t *target) sameFile(other *target) bool {
	for _, t := range []*target{t, other} {
		if t.file == "" || t.file == outfile.Dash || t.format.Socket != "" {
			return false
		}
	}
	if filepath.Clean(t.file) == filepath.Clean(other.file) {
		st, err := os.Stat(t.file)
		return err != nil || st.Mode().IsRegular() // pipes and devices take one after the other
	}
	a, err := os.Stat(t.file)
	if err != nil || !a.Mode().IsRegular() {
		return false
	}
	b, err := os.Stat(other.file)
	return err == nil && os.SameFile(a, b)
}

// wantsEvents says whether single events go into the file, and not maps alone.
func (t *target) wantsEvents() bool {
	return t.format.Takes == export.Everything || t.format.Takes == export.OneTable && len(t.maps) == 0
}

// needs are those of all files. What no file shows is not read: reading a large map takes time
// of the kernel's.
func (v *saver) needs(c *command) view.Needs {
	n := view.Needs{Totals: !c.now, Events: v.Events, Every: c.saveEvery, Maps: []*view.Map{}}
	if v.Past && v.every == 0 {
		n.Every, n.Fine = lookEvery, true
	}
	looks := func(t *target) bool { return t.format.Past || t.format.Looks }
	if c.every > 0 && (n.Every == 0 || n.Fine || c.every < n.Every) && slices.ContainsFunc(v.targets, looks) {
		n.Every, n.Fine = c.every, false
	}
	for _, t := range v.targets {
		for _, m := range t.maps {
			if !slices.Contains(n.Maps, m) {
				n.Maps = append(n.Maps, m)
			}
		}
	}
	return n
}

// drop closes what was opened for a script that did not load. An empty file that was not there
// before is removed again.
func (v *saver) drop() {
	for _, t := range v.targets {
		if f, ok := t.opened.(*outfile.File); ok {
			f.Drop()
		}
	}
}

// begin empties the files of streams: there is something to replace what they hold.
func (v *saver) begin() error {
	for _, t := range v.targets {
		if f, ok := t.opened.(*outfile.File); ok {
			if err := f.Empty(); err != nil {
				return err
			}
		}
	}
	return nil
}

// open has streams write where they write to.
func (v *saver) open(stdout io.Writer) {
	for _, t := range v.targets {
		if t.opened == nil && t.file == "" {
			t.to = stdout
		}
		if t.format.Stream != nil {
			t.stream = t.format.Stream(t.to, t.maps, v.options)
		}
	}
}

// Take takes an item of the run.
func (v *saver) Take(item view.Item) error {
	if err := v.Recorder.Take(item); err != nil {
		return err
	}
	if err := v.feed(item); err != nil {
		return err
	}
	switch it := item.(type) {
	case view.Begin:
		v.wrote = it.Boot
	// A tenth less counts as well: maps are never read at exactly the interval.
	case view.Refreshed: // which another view may have asked for, more often
		if v.every > 0 && it.Boot-v.wrote >= v.every-v.every/10 {
			v.wrote = it.Boot
			v.write(false)
		}
	case view.End:
		v.write(true)
	}
	return nil
}

// feed passes an item on to streams. A stream that is the output ends the run when it fails; one
// of --save is given up, and the run goes on.
func (v *saver) feed(item view.Item) error {
	v.streams.Lock()
	defer v.streams.Unlock()
	for _, t := range v.targets {
		if t.stream == nil || t.broken {
			continue
		}
		err := t.stream.Take(item)
		if err != nil && !t.beside {
			return t.failed(err)
		}
		if t.broken = err != nil; t.broken {
			v.note(t.failed(err))
		}
	}
	return nil
}

// note keeps the first error, for the end. Later errors mostly follow from the first.
func (v *saver) note(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.err == nil {
		v.err = err
	}
}

// write makes the files. The output is written to at the end alone. A file is replaced in one
// step, so that who reads it while the run goes on has a whole one.
func (v *saver) write(last bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	run := v.Run()
	// Rates are differences to what was written the last time.
	if run.Before = v.before; v.options.Rates {
		v.before = run.Maps
	}
	for _, t := range v.targets {
		var err error
		switch {
		case t.opened != nil && last:
			err = t.opened.Close()
		case t.stream != nil || t.file == "" && !last:
		case t.file == "":
			err = t.format.Write(t.to, run, t.maps, v.options)
		default:
			err = outfile.Replace(t.file, func(w io.Writer) error {
				return t.format.Write(w, run, t.maps, v.options)
			})
		}
		if err != nil && v.err == nil {
			v.err = t.failed(err)
		}
	}
}

// failed names the file, since several may have been asked for.
func (t *target) failed(err error) error {
	err = outfile.Cause(err)
	if t.file == "" {
		return fmt.Errorf("cannot write output: %w", err)
	}
	return fmt.Errorf("cannot write %q: %w", t.file, err)
}

// done reports what could not be written, which maps held nothing, and what files cannot say of
// them. Warnings come at the end, since maps can still be filled until then. A pipe that nobody
// reads any more is no error, as for other programs in a pipeline.
func (v *saver) done(c *command) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	run := v.Run()
	for _, t := range v.targets {
		for _, m := range t.maps {
			s := run.Snapshot(m)
			if s == nil {
				continue
			}
			low, left, cut := view.Unsaid(s)
			if cut > 0 && t.format.Takes.Weighed() {
				c.warn(fmt.Sprintf("%s: rows of %s that weigh 2⁶³ or more weigh 2⁶³-1 there: %s", t.name(), m.Name,
					view.Grouped(cut)))
			}
			if t.format.Bounds {
				continue
			}
			if low {
				c.warn(fmt.Sprintf("%s: totals of %s are lower bounds, as programs delete elements of it", t.name(),
					m.Name))
			}
			if left > 0 && t.format.Takes.Weighed() {
				c.warn(fmt.Sprintf("%s: rows of %s that weigh less than nothing are left out: %s", t.name(), m.Name,
					view.Grouped(left)))
			}
		}
		textOnly := func(ev view.Event) bool { return ev.Site != nil && len(ev.Site.Args) == 0 && !ev.Site.Header }
		if t.wantsEvents() && t.format == export.CSV && slices.ContainsFunc(run.Events, textOnly) {
			c.warn(fmt.Sprintf("%s has no lines of what prints without values", t.name()))
		}
		// Pages say it themselves, and streams have written all.
		if run.Dropped > 0 && t.stream == nil && t.format != export.HTML && t.wantsEvents() {
			c.warn(fmt.Sprintf("%s has the last %s events; there was no room for %s before them", t.name(),
				view.Grouped(len(run.Events)), view.Grouped(int64(run.Dropped))))
		}
		if !t.format.Takes.One() && !t.format.Takes.Weighed() {
			continue
		}
		// A table or a picture without anything is no mistake of who looks at it.
		empty := ""
		for _, m := range t.maps {
			if s := run.Snapshot(m); s != nil && s.Rows.Len() > 0 {
				empty = ""
				break
			}
			empty += ", " + m.Name
		}
		if empty != "" {
			c.warn(fmt.Sprintf("%s is empty: there was nothing in %s", t.name(), empty[2:]))
		}
	}
	if v.err != nil && errors.Is(v.err, unix.EPIPE) {
		return nil
	}
	return v.err
}

// name is what warnings call the file.
func (t *target) name() string {
	if t.file == "" {
		return "the output"
	}
	return t.file
}
