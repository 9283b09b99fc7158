package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/hawktrace/hawk/internal/export"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/session"
	"github.com/hawktrace/hawk/internal/ui/live"
	"github.com/hawktrace/hawk/internal/ui/plain"
	"github.com/hawktrace/hawk/internal/view"
	"github.com/hawktrace/hawk/internal/view/derive"
	"github.com/hawktrace/hawk/internal/view/history"
)

// watching are the options of live views. They are fields of the settings, but only for views:
// onlyWithViews refuses them elsewhere.
type watching struct {
	every   time.Duration // 0: as the view or the script says
	history time.Duration // 0: the default
	budget  float64       // percent of a processor; 0: the default
	rows    int           // of a table in plain; 0: the default
	stamp   bool          // events say when and by whom they were sent

	probeStats bool // what programs cost is a map

	theme       string
	ascii       bool
	noMouse     bool
	exitWithRun bool
}

// themes are the values of --theme.
var themes = []string{"auto", "dark", "light", "mono"}

// liveOptions are their rows of the table.
func liveOptions() []option {
	return []option{
		{long: "tui", group: views, doc: "show the run in the terminal: -f tui",
			set: do(func(s *settings, _ string) error {
				s.format = live.Terminal.Name
				return nil
			})},
		{long: "every", arg: "TIME", group: views, doc: "look at maps that often: tui 500ms, plain 5s",
			set: span{"--every", func(s *settings) *time.Duration { return &s.every }}},
		{long: "history", arg: "TIME", group: views, doc: "how far back views remember; default 5m",
			set: span{"--history", func(s *settings) *time.Duration { return &s.history }}},
		{long: "budget", arg: "PERCENT", group: views,
			doc: "look less often where that takes more of a CPU; default 1",
			set: do(func(s *settings, v string) (err error) {
				s.budget, err = strconv.ParseFloat(strings.TrimSuffix(v, "%"), 64)
				if err != nil || !(s.budget > 0) || s.budget > 100 {
					return usagef("USAGE: invalid value for --budget: %s; it is a percentage above 0", v)
				}
				return nil
			})},
		{long: "rows", arg: "N", group: views, doc: "plain: rows of a table; default 20",
			set: do(func(s *settings, v string) (err error) {
				if s.rows, err = strconv.Atoi(v); err != nil || s.rows < 1 {
					return usagef("USAGE: invalid value for --rows: %s; it is a number from 1 on", v)
				}
				return nil
			})},
		{long: "stamp", group: views,
			doc: "tui: have the kernel say when and where events were sent",
			set: flag(func(s *settings) *bool { return &s.stamp })},
		{long: "probe-stats", group: views,
			doc: "show how often the programs of each probe run, and how long",
			set: flag(func(s *settings) *bool { return &s.probeStats })},
		{long: "theme", arg: "THEME", group: views, doc: "tui: auto, dark, light or mono", values: themes,
			set: choice{"--theme", func(s *settings) *string { return &s.theme }, themes}},
		{long: "ascii", group: views, doc: "tui: no character beyond ASCII",
			set: flag(func(s *settings) *bool { return &s.ascii })},
		{long: "no-mouse", group: views, doc: "tui: leave the mouse to the terminal",
			set: flag(func(s *settings) *bool { return &s.noMouse })},
		{long: "exit-with-run", group: views, doc: "tui: leave when the run ends",
			set: flag(func(s *settings) *bool { return &s.exitWithRun })},
	}
}

// A viewer has the terminal. It is an interface since builds with the tag min have none; in
// others it is the terminal view.
type viewer interface {
	io.Writer // of messages, until the terminal is free
	// Say shows a message, too.
	Say(text string)
	// command gives the command of -c files of its own, and returns what closes this process's.
	command(*session.Spec) (done func(), err error)
	// printed takes what the script prints.
	printed() io.Writer
	// show takes the terminal over for a run.
	show(c *command, stop func(), o *session.Options) error
	// leave gives it back, once the user wants that if wait is set; it returns how the view failed.
	leave(c *command, wait bool) error
}

// A served view has an address. It is an interface for the reason that viewer is one.
type served interface {
	view.Feed
	needs() view.Needs
	open()
	done() // goes on for as long as --linger says
}

// A watch is who takes the feed of a run: files, a live view, a page. A run has at most one view
// in the terminal, and any number of files.
type watch struct {
	script *view.Script
	files  *saver      // nil: none
	plain  *plain.View // nil: none
	page   served      // nil: none
	tui    viewer      // nil: none
	needs  view.Needs
	feeds  view.Feeds // all of them
}

// inTerminal reports whether a view has the terminal.
func (w *watch) inTerminal() bool { return w != nil && w.tui != nil }

// asksForView is the option that asks for a file or a view, "" if none does. The errors name it,
// as the user may have typed any of several.
func (c *command) asksForView() string {
	switch {
	case c.viewFormat() != nil || c.live():
		return "-f " + c.format
	case len(c.saves) > 0:
		return "--save"
	case c.web.asked:
		return "--web"
	}
	return ""
}

// unseen reports a view of what is not run: a list, or an executable that is made for later. It
// is asked early, before anything is listed or compiled; watch asks what needs the script.
func (c *command) unseen() error {
	with, what := c.asksForView(), ""
	if len(c.prints) > 0 {
		with = "--save"
	}
	switch {
	case c.mode == modeList:
		what = c.modeOption
	case c.aot != "":
		what = "--aot"
	}
	if with == "" || what == "" {
		return nil
	}
	return usagef("%s cannot be used with %s", with, what)
}

// watch is who takes the feed; nil if nobody does.
func (c *command) watch(p *session.Program) (*watch, error) {
	with := c.asksForView()
	switch {
	case with == "":
		return nil, c.onlyWithViews()
	// Views show what a map means, which is read off the script; an executable carries programs
	// alone.
	case p.Tree == nil:
		return nil, fmt.Errorf("%s is not for scripts that were compiled ahead of time", with)
	case c.dryRun:
		return nil, fmt.Errorf("%s cannot be used with --dry-run", with)
	case c.modeOption != "" && c.mode != modeRun:
		return nil, fmt.Errorf("%s cannot be used with %s", with, c.modeOption)
	case c.format == live.Terminal.Name && c.output != "":
		return nil, fmt.Errorf("-f tui is for the terminal; it cannot be used with -o")
	// Live views show both.
	case c.now && c.live():
		return nil, fmt.Errorf("--now is for files; it cannot be used with %s", with)
	}
	c.collectSoon()
	w := &watch{script: derive.Derive(p.Tree, p.Checked)}
	if c.probeStats {
		w.script.Maps = append(w.script.Maps, view.NewProbeStats())
	}
	files, err := c.files(w.script, p.Object)
	if err != nil {
		return nil, err
	}
	// Nil would stand for all maps.
	w.needs.Maps = []*view.Map{}
	if w.files = files; files != nil {
		w.add(files, files.needs(c))
	}
	// Files come before views: an error of theirs is told while the terminal is still the
	// user's.
	if err := w.openViews(c); err != nil {
		w.drop()
		return nil, err
	}
	return w, nil
}

// openViews makes the live views.
func (w *watch) openViews(c *command) (err error) {
	if c.live() {
		if err := w.openLive(c); err != nil {
			return err
		}
	}
	if c.web.asked {
		if w.page, err = w.openPage(c); err != nil {
			return err
		}
		w.add(w.page, w.page.needs())
	}
	return nil
}

// drop closes the files of a script that did not load.
func (w *watch) drop() {
	if w.files != nil {
		w.files.drop()
	}
}

// add has the run tell one more. What several need is joined, so that maps are read once for
// all.
func (w *watch) add(feed view.Feed, needs view.Needs) {
	w.feeds = append(w.feeds, feed)
	w.needs.Join(needs)
}

// onlyWithViews reports options that mean nothing where no file is made and nothing is
// shown. An option that did nothing would look as if it had worked.
func (c *command) onlyWithViews() error {
	for _, o := range []struct {
		name  string
		given bool
	}{{"--save-every", c.saveEvery > 0 && c.prints == nil}, {"--map", c.mapNames != nil}, {"--now", c.now}} {
		if o.given {
			return fmt.Errorf("%s is for --save, and for formats of -f that show maps", o.name)
		}
	}
	for _, o := range []struct {
		name  string
		given bool
	}{
		{"--every", c.every > 0}, {"--history", c.history > 0}, {"--budget", c.budget > 0}, {"--rows", c.rows > 0},
		{"--stamp", c.stamp}, {"--theme", c.theme != ""}, {"--ascii", c.ascii}, {"--no-mouse", c.noMouse},
		{"--exit-with-run", c.exitWithRun}, {"--probe-stats", c.probeStats},
	} {
		if o.given {
			return fmt.Errorf("%s is for live views, -f %s and --web", o.name, strings.Join(liveNames(), ", -f "))
		}
	}
	return c.onlyWithPage()
}

// Times and rows that views take by themselves.
const (
	plainEvery = 5 * time.Second
	tuiEvery   = 500 * time.Millisecond
	plainRows  = 20
)

// openLive makes the live view.
func (w *watch) openLive(c *command) error {
	// The empty format takes maps of any kind, all that --map names.
	maps, err := (&export.Format{}).Choose(w.script, c.mapNames)
	if err != nil {
		return fmt.Errorf("-f %s: %w", c.format, err)
	}
	if c.format == live.Terminal.Name {
		w.tui, err = w.openTUI(c)
		return err
	}
	rows := c.rows
	if rows == 0 {
		rows = plainRows
	}
	w.plain = plain.New(w.script.InOrder(maps), plain.Options{Rows: rows, History: history.Options{Span: c.history}})
	w.add(w.plain, view.Needs{Totals: true, Cadence: w.pace(c, plainEvery), Maps: maps})
	return nil
}

// pace is how often maps are read for live views: as often as the first of them says, if
// no option and no script does. Views share one pace, since each reading of the maps costs the
// same whoever looks.
func (w *watch) pace(c *command, usual time.Duration) *view.Cadence {
	if w.needs.Cadence != nil {
		return w.needs.Cadence
	}
	every, budget := c.every, c.budget
	if every == 0 && w.script.Interval != "" {
		every, _ = time.ParseDuration(w.script.Interval)
	}
	if every == 0 {
		every = usual
	}
	if budget == 0 {
		budget = view.DefaultBudget
	}
	return view.NewCadence(every, budget)
}

// open says where things are written to, and returns where the script prints. It is called when
// the script has been loaded: nothing is written for one that is refused.
func (w *watch) open(to io.Writer) io.Writer {
	if w.files != nil {
		w.files.open(to)
	}
	if w.page != nil {
		w.page.open()
	}
	switch {
	case w.plain != nil:
		w.plain.Open(to)
		return w.plain.Writer()
	case w.tui != nil:
		return w.tui.printed()
	}
	return to
}

// sink is what the script prints to. The plain view puts its tables between what the script
// prints, and so has to see both.
func (w *watch) sink(s output.Sink) output.Sink {
	if w.plain == nil {
		return s
	}
	return w.plain.Sink(s)
}

// Take takes an item of the run.
func (w *watch) Take(item view.Item) error { return w.feeds.Take(item) }

// done reports what went wrong with files, and lets the page go. Files are finished before the
// page goes on, which may be for hours.
func (w *watch) done(c *command) (err error) {
	if w.files != nil {
		err = w.files.done(c)
	}
	if w.page != nil {
		w.page.done()
	}
	return err
}

// webbing are the options of the live page.
type webbing struct {
	asked  bool
	addr   string
	token  string // of --web-token: a file, or none
	hosts  []string
	linger time.Duration
}

// webAddress is where a run is served unless another address is given. It is the machine's own:
// what a script sees is not shown to a network by accident.
const webAddress = "127.0.0.1:7171"

// webOptions are their rows of the table.
func webOptions() []option {
	return []option{
		{long: "web", arg: "[=ADDR]", group: views,
			doc: "serve a live page at " + webAddress + ", another address, or unix:PATH",
			set: do(func(s *settings, addr string) error {
				s.web.asked, s.web.addr = true, addr
				return nil
			})},
		{long: "web-token", arg: "FILE", group: views,
			doc: "what a page's requests need is the first line of a file, or none",
			set: text(func(s *settings) *string { return &s.web.token })},
		{long: "web-host", arg: "NAME", group: views,
			doc: "requests may be addressed to this name, too; may be repeated",
			set: list(func(s *settings) *[]string { return &s.web.hosts })},
		{long: "linger", arg: "TIME", group: views, doc: "go on serving for so long when the run has ended",
			set: span{"--linger", func(s *settings) *time.Duration { return &s.web.linger }}},
	}
}

// onlyWithPage reports options that mean nothing without --web.
func (c *command) onlyWithPage() error {
	for _, o := range []struct {
		name  string
		given bool
	}{
		{"--web-token", c.web.token != ""}, {"--web-host", c.web.hosts != nil}, {"--linger", c.web.linger > 0},
	} {
		if o.given && !c.web.asked {
			return fmt.Errorf("%s is for --web", o.name)
		}
	}
	return nil
}

// forever is longer than anybody looks at a page. It is short of the largest duration, 292
// years, so that it can be added to a time.
const forever = 100 * 365 * 24 * time.Hour
