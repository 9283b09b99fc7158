package term

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/ui/live"
	"github.com/hawktrace/hawk/internal/ui/live/livetest"
	"github.com/hawktrace/hawk/internal/ui/tty"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
	"github.com/hawktrace/hawk/internal/view/history"
)

var update = flag.Bool("update", false, "rewrite what is expected")

// played is a model of a run that has lasted for some seconds.
func played(seconds int, change func(*livetest.Player)) (*Model, *livetest.Player) {
	state := live.New(history.Options{})
	state.Cadence = view.NewCadence(500*time.Millisecond, 1)
	p := &livetest.Player{To: state}
	if change != nil {
		change(p)
	}
	p.Begin()
	for range seconds {
		p.Second()
	}
	return NewModel(state, state.Script(), nil, Theme{}), p
}

// press sends keys: characters, or names in angle brackets.
func press(m *Model, keys string) (last Action) {
	named := map[string]tty.Key{"tab": {Code: tty.Tab}, "enter": {Code: tty.Enter}, "esc": {Code: tty.Escape},
		"back": {Code: tty.Backspace}, "up": {Code: tty.Up}, "down": {Code: tty.Down}, "left": {Code: tty.Left},
		"right": {Code: tty.Right}, "end": {Code: tty.End}, "home": {Code: tty.Home}, "pgdn": {Code: tty.PageDown},
		"^C": {Code: tty.Ctrl, Rune: 'c'}, "^Z": {Code: tty.Ctrl, Rune: 'z'}, "F1": {Code: tty.F1},
		"lt": {Code: tty.Char, Rune: '<'}}
	for keys != "" {
		if name, rest, ok := strings.Cut(keys[1:], ">"); keys[0] == '<' && ok {
			k, known := named[name]
			if !known {
				panic("no key " + name)
			}
			last, keys = m.Key(k), rest
			continue
		}
		r := []rune(keys)[0]
		last, keys = m.Key(tty.Key{Code: tty.Char, Rune: r}), keys[len(string(r)):]
	}
	return last
}

// golden compares a picture with the one that is kept.
func golden(t *testing.T, name string, g *tty.Grid) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	got := g.Text()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s:\n%s", name, diff)
	}
}

// TestRefused has what did not get into a map be said above it, at any size that shows it.
func TestRefused(t *testing.T) {
	m, p := played(5, nil)
	snap := *m.State.Snapshot(livetest.Calls)
	snap.Refused = view.Refused{Updates: 88, Full: true, Held: 4096, Capacity: 4096}
	p.To.Take(snap)
	press(m, "5")
	for _, size := range [][2]int{{120, 30}, {80, 24}, {60, 16}} {
		text := m.Draw(size[0], size[1]).Text()
		if !strings.Contains(text, "full: 4,096 of 4,096, 88 updates refused  co") {
			t.Errorf("%d×%d:\n%s", size[0], size[1], text)
		}
	}
}

// TestStill has all maps stand still while the picture is paused, whatever comes and though the run ends.
func TestStill(t *testing.T) {
	for _, keys := range []string{"", "1", "2f", "3", "4d", "1h"} {
		m, p := played(5, func(p *livetest.Player) { p.Keys = 40 })
		press(m, keys+"p")
		panes := func() string {
			_, rest, _ := strings.Cut(m.Draw(120, 60).Text(), "\n")
			rest, _, _ = strings.Cut(rest, "8 events") // which are not held
			return rest
		}
		want := panes()
		for range 3 {
			p.Second()
		}
		if got := panes(); got != want {
			t.Errorf("%q: the run went on:\n%s\nand was\n%s", keys, got, want)
		}
		p.End()
		if got := panes(); got != want {
			t.Errorf("%q: the run ended:\n%s\nand was\n%s", keys, got, want)
		}
	}
}

// TestFullest has the part of a histogram be shown that counts most, where not all of it fits.
func TestFullest(t *testing.T) {
	for _, c := range []struct {
		counts          []uint64
		lines, from, to int
	}{
		{[]uint64{0, 5, 1, 1, 0}, 4, 1, 4},
		{[]uint64{0, 900, 20, 1, 1, 1, 0}, 3, 1, 4},
		{[]uint64{1, 1, 1, 20, 900}, 2, 3, 5},
		{[]uint64{1, 1, 50, 60, 1, 1}, 2, 2, 4},
		{[]uint64{1, 1}, 0, 0, 0},
		{[]uint64{1, 1}, -1, 0, 0},
		{nil, 5, 0, 0},
	} {
		buckets := make([]value.Bucket, len(c.counts))
		for i, n := range c.counts {
			buckets[i].Count = n
		}
		from, to := live.Filled(buckets)
		if low, high := fullest(buckets, from, to, c.lines); low != c.from || high != c.to {
			t.Errorf("%v in %d lines: %d to %d, want %d to %d", c.counts, c.lines, low, high, c.from, c.to)
		}
	}
}

// TestHeights has a number without keys take no room that tables can use, and rows fill the screen.
func TestHeights(t *testing.T) {
	number := &pane{m: &view.Map{Name: "@n", Type: types.Uint64, Kind: view.Counter}}
	table := &pane{m: &view.Map{Name: "@t", Type: types.Uint64, Keys: make([]view.Element, 1), Kind: view.Counter}}
	for _, c := range []struct {
		panes  []*pane
		height int
		want   string
	}{
		{[]*pane{number, number, table}, 48, "[9 9 30]"}, // each in a row of its own
		{[]*pane{table, number, table}, 50, "[30 9 11]"},
		{[]*pane{number, number}, 40, "[31 9]"},
		{[]*pane{number, table, table}, 12, "[4 4 4]"},
	} {
		m := &Model{panes: c.panes}
		var rows [][]int
		for i := range c.panes {
			rows = append(rows, []int{i})
		}
		if got := fmt.Sprint(m.heights(c.height, rows, 0, minPane)); got != c.want {
			t.Errorf("%d panes in %d lines: %s, want %s", len(rows), c.height, got, c.want)
		}
	}
}

func TestSizes(t *testing.T) {
	for _, size := range [][2]int{{200, 50}, {100, 30}, {80, 24}, {60, 16}, {40, 10}, {32, 8}, {20, 5}} {
		m, _ := played(40, nil)
		golden(t, fmt.Sprintf("size_%dx%d", size[0], size[1]), m.Draw(size[0], size[1]))
	}
}

// Keys change what is looked at.
func TestKeys(t *testing.T) {
	for _, tt := range []struct{ name, keys string }{
		{"zoom", "z"}, {"heat", "hz"}, {"log", "lz"}, {"next_key", "<down><down>z"}, {"drill", "<down><enter>z"},
		{"table_sorted", "2sr"}, {"table_total", "2c"}, {"table_filling", "2w"}, {"table_all", "20"},
		{"table_change", "5d"}, {"table_filter", "5/s<enter>"}, {"table_expression", "5//^.o/<enter>"},
		{"typing", "5/po"}, {"functions", "3z"}, {"functions_by_total", "3zs"}, {"flame", "3fz"},
		{"flame_down", "3fz<down><down><down>"}, {"flame_zoom", "3fz<down><down><down><enter>"},
		{"flame_out", "3fz<down><down><down><enter><back>"}, {"flame_search", "3fz/read<enter>n"},
		{"flame_inverted", "3fzi"},
		{"merged", "3z<down>m"}, {"merged_callers", "3z<enter>i"},
		{"back_to_functions", "3fzt"},
		{"events", "8z"}, {"events_stay", "8zo<up><up>"}, {"events_filter", "8z/sshd<enter>"},
		{"events_open", "8<enter>"},
		{"help", "?"}, {"states", "x9z"}, {"paused", "p"},
		{"back_in_history", "[["},
		{"picking", "v<left><left><left><enter>"},
		{"range", "v<left><left><left><enter><left><left><enter>"},
		{"range_left", "vv<left>v<esc>"},
		{"tile", "6z"},
		{"tabs_around", "<tab><tab><tab>"},
	} {
		m, _ := played(40, nil)
		m.Draw(110, 36)
		press(m, tt.keys)
		m.Draw(110, 36)
		golden(t, "key_"+tt.name, m.Draw(110, 36))
	}
	m, _ := played(3, nil)
	for keys, want := range map[string]Action{"q": Quit, "X": EndRun, "<^C>": EndRun, "<^Z>": Suspend, "S": SaveHTML,
		"e": SaveCSV, "y": Copy, "p": Nothing} {
		if got := press(m, keys); got != want {
			t.Errorf("%s is action %d, want %d", keys, got, want)
		}
	}
}

// A picture that stands still does not change, though the run goes on; then it catches up.
func TestPause(t *testing.T) {
	m, p := played(20, nil)
	press(m, "5p")
	before := m.Draw(120, 40).Text()
	for range 10 {
		p.Second()
	}
	cut := func(s string) string { // the events are not held, and the line above says how it goes on
		_, s, _ = strings.Cut(s, "\n")
		s, _, _ = strings.Cut(s, "8 events")
		return s
	}
	if diff := cmp.Diff(cut(before), cut(m.Draw(120, 40).Text())); diff != "" {
		t.Error(diff)
	}
	press(m, "p")
	if got := m.Draw(120, 40).Text(); !strings.Contains(got, "240 k") || strings.Contains(got, "paused") {
		t.Errorf("after the pause:\n%s", got)
	}
}

// A range has in all panes what happened in it.
func TestRange(t *testing.T) {
	m, _ := played(40, nil)
	press(m, "5v<left><left><left><left><enter><right><right><right><enter>z")
	got := m.Draw(100, 20).Text()
	for _, want := range []string{"range 12:00:35 – 12:00:39", "▼IN RANGE", " 32 k  8,000 "} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	press(m, "z3z")
	if got := m.Draw(100, 20).Text(); !strings.Contains(got, "1.42 MiB") { // of 14.2 in ten times the time
		t.Errorf("the profile of four seconds:\n%s", got)
	}
}

// Colors and characters are never all that says something.
func TestPlainly(t *testing.T) {
	for _, keys := range []string{"", "3fz", "hz", "8z", "?", "[["} {
		m, _ := played(40, nil)
		m.Theme = Theme{ASCII: true, Shades: true}
		press(m, keys)
		g := m.Draw(110, 36)
		for _, r := range g.Text() {
			if r >= 0x7f {
				t.Errorf("%q: %q beyond ASCII", keys, r)
			}
		}
		if keys == "3fz" || keys == "" {
			golden(t, "ascii_"+map[string]string{"": "all", "3fz": "flame"}[keys], g)
		}
	}
	m, _ := played(40, nil)
	m.Theme.Shades = true
	golden(t, "mono", m.Draw(110, 36))
	// Bold, underline and reverse are all that a terminal without colors is asked for.
	for _, keys := range []string{"", "hz", "z3z", "?"} {
		press(m, keys)
		screen := tty.Screen{Depth: tty.Mono}
		for _, style := range regexp.MustCompile(`\x1b\[([0-9;]*)m`).FindAllStringSubmatch(
			string(screen.Paint(m.Draw(110, 36))), -1) {
			if !regexp.MustCompile(`^0(;[147])*$`).MatchString(style[1]) {
				t.Errorf("%q: the terminal is asked for %q", keys, style[1])
			}
		}
	}
}

// TestNothingMore does not let a map of a run that has ended wait for more.
func TestNothingMore(t *testing.T) {
	m, p := played(0, nil)
	waits := strings.Count(m.Draw(140, 36).Text(), "nothing yet")
	p.End()
	if text := m.Draw(140, 36).Text(); waits == 0 || strings.Contains(text, "nothing yet") ||
		!strings.Contains(text, "nothing") {
		t.Errorf("%d maps had nothing yet; after the end they have\n%s", waits, text)
	}
}

// TestChosen has the chosen row stand out by its texts: bars and numbers over time would be upside down in reverse.
func TestChosen(t *testing.T) {
	m, _ := played(40, nil)
	for _, keys := range []string{"2z", "z3tz"} {
		press(m, keys)
		g := m.Draw(140, 36)
		texts, bars := 0, 0
		for y := range g.H {
			for x := range g.W {
				c := g.At(x, y)
				bar := c.Style.Fg == m.Theme.bar().Fg || c.Style.Fg == m.Theme.spark().Fg
				switch {
				case bar && c.Style.Attr&tty.Reverse != 0:
					t.Fatalf("%q: a bar at %d, %d is in reverse:\n%s", keys, x, y, g.Text())
				case bar:
					bars++
				case c.Style.Attr&tty.Reverse != 0 && y > 2:
					texts++
				}
			}
		}
		if texts < 10 || bars < 10 {
			t.Errorf("%q: %d cells of texts are in reverse, of %d of bars:\n%s", keys, texts, bars, g.Text())
		}
	}
}

// Names from outside are drawn as what they are, and harm nothing.
func TestHostile(t *testing.T) {
	m, _ := played(12, func(p *livetest.Player) {
		p.Comms = []string{"\x1b]0;x\x07", "a\nb", "\u202eevil", "\xff\xfe", "日本語のプロセス",
			strings.Repeat("long", 100), "<img src=x>", "\u200bzero", "\x9b31m"}
	})
	for _, keys := range []string{"", "<tab>", "<tab>", "f", "<tab>", "<tab>", "<enter>", "8", "z", "/\x1b<enter>"} {
		press(m, keys)
		for _, size := range [][2]int{{160, 50}, {80, 24}, {50, 12}} {
			for _, r := range m.Draw(size[0], size[1]).Text() {
				if r != '\n' && (r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || view.Acts(r)) {
					t.Fatalf("%U is drawn after %q", r, keys)
				}
			}
		}
	}
}

// No keys at any size make it panic, whatever state the run is in.
func TestAnything(t *testing.T) {
	keys := []string{"<tab>", "<enter>", "<back>", "<esc>", "<up>", "<down>", "<left>", "<right>", "<end>", "<home>",
		"<pgdn>", "<F1>", "<lt>"}
	for _, r := range "123456789zFjkgG>srn/Nabcdwclhftmi0 p[]vRoSexXy+-?" {
		keys = append(keys, string(r))
	}
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 3))
		m, p := played(int(seed%7), func(p *livetest.Player) { p.Keys = int(seed % 3 * 40) })
		for step := range 150 {
			press(m, keys[r.IntN(len(keys))])
			if step%10 == 0 {
				p.Second()
			}
			if step == 140 {
				p.End()
			}
			m.Draw(r.IntN(220), r.IntN(60))
			m.Key(tty.Key{Code: tty.Click, X: r.IntN(200), Y: r.IntN(60)})
			m.Key(tty.Key{Code: tty.WheelDown, X: r.IntN(200), Y: r.IntN(60)})
		}
		if g := m.Draw(1, 1); g.W != 1 {
			t.Error("no picture of one cell")
		}
	}
}

// The picture before anything is known, and after the end.
func TestBeginAndEnd(t *testing.T) {
	m, p := played(0, nil)
	golden(t, "begin", m.Draw(110, 30))
	for range 15 {
		p.Second()
	}
	p.End()
	golden(t, "end", m.Draw(110, 30))
}

// TestNarrow has small terminals show what keys do, and the way to help and out, whole.
func TestNarrow(t *testing.T) {
	m, _ := played(20, nil)
	for n := range m.panes {
		m.focus = n
		for w := tinyWidth; w <= 200; w++ {
			lines := strings.Split(strings.TrimSpace(m.Draw(w, 12).Text()), "\n")
			if last := lines[len(lines)-1]; !strings.Contains(last, "? help  q quit") {
				t.Errorf("pane %d, %d columns: %s", n, w, last)
			}
		}
	}
	press(m, "?")
	golden(t, "help_40x60", m.Draw(40, 60))
	if text := m.Draw(40, 12).Text(); strings.Contains(text, "…") || !strings.Contains(text, " more\n") {
		t.Errorf("the help is\n%s", text)
	}
}

// TestNeeds gives tables and histograms the lines that they can use, and no table fewer than it has had.
func TestNeeds(t *testing.T) {
	table := func(used int) *pane {
		m := &view.Map{Name: "@t", Type: types.Uint64, Keys: make([]view.Element, 1), Kind: view.Counter}
		return &pane{m: m, used: used}
	}
	m := &Model{panes: []*pane{table(0), table(6), table(1), {}}}
	for n, want := range []int{50, 8, minPane, 50} {
		if got := m.need([]int{n}, 50); got != want {
			t.Errorf("pane %d can use %d lines, not %d", n, got, want)
		}
	}
	m.uses(m.panes[1], 9)
	m.uses(m.panes[1], 2)
	if !m.grew || m.panes[1].used != 9 {
		t.Errorf("it has a use for %d lines", m.panes[1].used)
	}
}
