// Package term is the live view of a run in a terminal. A Model holds what is looked at
// and how; Draw makes a grid of cells of it, which depends on nothing else than the state
// of the run, the size and the theme. Keys change the model. Run ties it to a terminal.
package term

import (
	"regexp"
	"strings"
	"time"

	"github.com/hawktrace/hawk/internal/ui/live"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

// A Model is what is looked at and how.
type Model struct {
	State *live.State
	Theme Theme
	// Output is what the command of -c has printed, nil if there is none.
	Output *Lines

	script  *view.Script
	first   []*view.Map // of --map, in their order; nil: all
	panes   []*pane
	focus   int
	zoom    bool
	help    bool
	states  bool // maps of state are open
	pinned  bool // the picture stands still
	step    int  // columns that it stands back in history
	span    span // the range of time that all panes show
	picking *picking
	prompt  *prompt
	note    string // for the last line, until a key is pressed
	seen    uint64 // lost events that the user knows of
	hits    []hit  // where clicks go
	grew    bool   // a pane has a use for more lines than it was dealt
}

// A span is a range of time by the boot clock; the zero value is none.
type span struct{ from, to time.Duration }

// A picking is a range of time being chosen: by columns from the newest.
type picking struct {
	at, mark int
	marked   bool
}

// A prompt is text being typed.
type prompt struct{ text []rune }

// A hit is a place on the screen that a click means.
type hit struct {
	box    box
	pane   int
	column int // to sort by, -1: none
	row    int // to select, -1: none
}

// A pane shows a map, events, or output.
type pane struct {
	m      *view.Map // nil: events, or output
	output bool
	title  string

	of      live.Of
	all     bool // neither top nor div of print
	sort    int  // column; -1: as the table says
	reverse bool
	change  bool
	cursor  int
	top     int // the first row that is shown
	filter  matcher
	heat    bool // nothing but the heat map
	log     bool // lengths of bars are logarithms
	used    int  // the most lines that it had a use for; 0: it was not drawn yet
	open    *opened

	flame  bool
	invert bool
	merge  string   // the function that stacks are merged by, "" if none
	root   []string // names of frames down to the one that fills the width
	sel    []string // names of frames down to the one that is selected
	trie   trieOf

	stay uint64 // events: the last that is shown; 0: the newest
}

// An opened row of a table.
type opened struct{ key value.Value }

// A matcher finds text.
type matcher struct {
	text string
	re   *regexp.Regexp // nil: text as it is, whatever the case
}

// newMatcher reads text, or /an expression/. An expression that is none is text.
func newMatcher(s string) matcher {
	m := matcher{text: s}
	if len(s) > 2 && s[0] == '/' && s[len(s)-1] == '/' {
		m.re, _ = regexp.Compile(s[1 : len(s)-1])
	}
	return m
}

// empty reports whether nothing is looked for.
func (m *matcher) empty() bool { return m.text == "" }

// matches reports whether a text is one of those that are looked for.
func (m *matcher) matches(s string) bool {
	switch {
	case m.text == "":
		return true
	case m.re != nil:
		return m.re.MatchString(s)
	}
	return strings.Contains(strings.ToLower(s), strings.ToLower(m.text))
}

// NewModel makes a model of a run of a script. maps come first, in their order; nil: those
// of the script in the order in which they are written.
func NewModel(state *live.State, script *view.Script, maps []*view.Map, theme Theme) *Model {
	m := &Model{State: state, Theme: theme, script: script, first: maps}
	m.arrange()
	return m
}

// arrange makes the panes: results, events, output, state.
func (m *Model) arrange() {
	var had []*pane
	had, m.panes = m.panes, nil
	add := func(p *pane) {
		for _, old := range had {
			// A pane that stays keeps cursor, search and order.
			if old.m == p.m && old.output == p.output {
				p = old
			}
		}
		m.panes = append(m.panes, p)
	}
	for _, of := range m.inOrder() {
		if of.Role == view.Result {
			add(newPane(of))
		}
	}
	if m.hasEvents() {
		add(&pane{title: "events"})
	}
	if m.Output != nil {
		add(&pane{title: "output", output: true})
	}
	// State is shown when it is asked for, or if there is nothing else.
	if m.states || len(m.panes) == 0 {
		for _, of := range m.inOrder() {
			if of.Role == view.State {
				add(newPane(of))
			}
		}
	}
	// There always is a pane, as keys go to one.
	if len(m.panes) == 0 {
		add(&pane{title: "events"})
	}
	m.focus = min(m.focus, len(m.panes)-1)
}

// SetOutput adds a pane for what a command prints.
func (m *Model) SetOutput(l *Lines) {
	m.Output = l
	m.arrange()
}

// hasEvents reports whether the script emits events; headers alone are none.
func (m *Model) hasEvents() bool {
	for _, s := range m.script.Sites {
		if !s.Header {
			return true
		}
	}
	// Headers are the events of a script that prints nothing else.
	return len(m.script.Sites) > 0
}

// inOrder are the maps in the order of panes.
func (m *Model) inOrder() []*view.Map {
	if m.first != nil {
		return m.first
	}
	return m.script.AsWritten()
}

// newPane is a pane of a map as it is shown at first.
func newPane(m *view.Map) *pane { return &pane{m: m, title: m.Name, of: live.DefaultOf(m), sort: -1} }

// want is what of its map a pane shows.
func (m *Model) want(p *pane) live.Want {
	w := live.Want{Of: p.of, Change: p.change, From: m.span.from, To: m.span.to}
	// Numbers are divided as print of the script divides them, unless all is wanted.
	if !p.all {
		w.Div = p.m.Div
	}
	return w
}

// rowLimit is how many rows print of the script shows, 0: all.
func (p *pane) rowLimit() int {
	if p.all || p.m == nil {
		return 0
	}
	return int(p.m.Top)
}

// focused is the pane that keys go to.
func (m *Model) focused() *pane { return m.panes[m.focus] }

// Note shows a text in the last line until a key is pressed.
func (m *Model) Note(text string) { m.note = text }
