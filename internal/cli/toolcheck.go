package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/check"
	"github.com/hawktrace/hawk/internal/compile"
	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/notation"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/session"
	"github.com/hawktrace/hawk/internal/session/child"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/tool"
)

// asTool makes a compilation one of a tool. Its script reads no files of a user's machine, and asks
// which attach points there are to choose its variant (asked). A file beside the user could else
// replace what a tool imports, while root runs it.
func (c *command) asTool(o *compile.Options) {
	o.Files, o.Probe.Lists, o.Probe.Asked = tool.NoFiles{}, c.tool.Lists(), c.asked
	o.Probe.Narrow = c.narrow
}

// waits reports whether a probe waits for events: hawk does not fire it itself, nor does
// a clock.
func waits(p *check.Probe) bool { return p.Kind.Ours == probe.NotOurs && !p.Kind.Nobodys }

// idle reports whether nothing of a program waits for events: all there is begins, ends
// or is fired by a clock.
func idle(p *session.Program) bool {
	return !slices.ContainsFunc(p.Checked.Probes, waits)
}

// noVariant is the error of a tool none of whose variants finds its probes here; nil if
// one does. A tool that has a clock and no event runs, and shows nothing for ever: hence the
// error.
func (c *command) noVariant(p *session.Program) error {
	if c.tool == nil || len(c.lacking) == 0 || p.Checked == nil || !idle(p) {
		return nil
	}
	return c.needs()
}

// noMode is the error of a tool that does not compile with these options since what it traces for them
// is not there; nil if there is another reason. Attach points that the user gave have errors of their own.
func (c *command) noMode(ds *source.Diagnostics) error {
	if c.tool == nil || notation.Of(c.tool.Name) != nil {
		return nil
	}
	for _, d := range ds.List() {
		point := d.Span.Text()
		switch {
		case d.Severity != source.Error:
		case d.Code == "kernel":
			// The first says it all. What scripts can do instead, a tool cannot.
			which, _, _ := strings.Cut(strings.Join(d.Hints, "\nHINT: "), "; ")
			return fmt.Errorf("%s: %s%s", c.tool.Name, d.Msg, hinted(which))
		case d.Code == "missing-probe" && !strings.Contains(point, "$"):
			c.asked(point, false)
		case d.Code != "undefined-map" || len(d.Hints) > 0:
			return nil
		}
	}
	if len(c.lacking) == 0 {
		return nil
	}
	return c.needs()
}

// hinted is a hint as it is put behind an error, "" if there is none.
func hinted(text string) string {
	if text == "" {
		return ""
	}
	return "\nHINT: " + text
}

// needs is the error for what a tool asks for and that is not there.
func (c *command) needs() error {
	err := fmt.Errorf("%s needs one of: %s", c.tool.Name, strings.Join(c.lacking, ", "))
	hint := c.whyLacking(c.lacking[0])
	providers := marksOf(c.lacking)
	if pids := c.pids(); len(pids) == 1 && len(providers) > 1 {
		err = fmt.Errorf("%s: process %d has no marks of a known language", c.tool.Name, pids[0])
		if providers["python"] {
			hint = strings.TrimPrefix(hint+"; python needs a build --with-dtrace", "; ")
		}
	}
	if hint != "" {
		err = fmt.Errorf("%w\nHINT: %s", err, hint)
	}
	if c.command != "" && strings.HasPrefix(c.lacking[0], "usdt:*:") {
		err = fmt.Errorf("%w\nHINT: what -c starts does not run yet: --file names the program or library with the "+
			"marks", err)
	}
	return err
}

// marksOf are the providers of marks in any program that attach points ask for; none if they ask for
// something else, too.
func marksOf(points []string) map[string]bool {
	providers := map[string]bool{}
	for _, text := range points {
		rest, ok := strings.CutPrefix(text, "usdt:*:")
		if !ok {
			return nil
		}
		provider, _, _ := strings.Cut(rest, ":")
		providers[provider] = true
	}
	return providers
}

// whyLacking says why an attach point is not there, "" if that is not known. It goes through the
// same steps as attaching does, for one point.
func (c *command) whyLacking(text string) string {
	parts, err := probe.PatternParts(text)
	if err != nil || len(parts) == 0 {
		return ""
	}
	kind, rest, err := probe.KindOf(parts)
	if err != nil {
		return ""
	}
	// That functions cannot be traced at all is no error of one, but a warning.
	none := machine.ErrNoKprobes.Error()
	warned := ""
	o := c.probeOptions()
	o.WarnPoint = func(_ source.Span, text string) { warned += text }
	pt := &probe.Point{Kind: kind, Parts: rest}
	if kind.Parse(pt, pt.Parts, &o) != nil {
		return ""
	}
	if _, err := kind.Match(pt, &o); err == nil && strings.Contains(warned, none) {
		return none
	}
	if kind.Why == nil {
		return ""
	}
	return kind.Why(pt, &o)
}

// asked notes the attach points that the script asks for and that are not there. The order is
// that of the script, whose first choice is what an error explains.
func (c *command) asked(point string, there bool) {
	if !there && !slices.Contains(c.lacking, point) {
		c.lacking = append(c.lacking, point)
	}
}

// A verdict is what `hawk tools --check` finds out about a tool.
type verdict struct {
	Tool    string `json:"tool"`
	State   string `json:"state"`   // ok, fallback or no
	Uses    string `json:"uses"`    // the first probe
	Missing string `json:"missing"` // what would have to be there
}

// checkTools says which tools can run here, and by which probes. It loads nothing. A tool is "ok"
// if all that it asks for is there, "fallback" if another variant of it runs, else "no". It
// compiles all of them, which takes seconds, and so is asked for by name.
func (c *command) checkTools(names []string, format string) int {
	if err := c.machine.Privileges(); err != nil {
		return c.fail(exitUsage, err)
	}
	if len(names) == 0 {
		names = tool.Names()
	}
	var all []verdict
	for _, name := range names {
		t, ok := tool.Find(name)
		if !ok {
			return c.scriptError(noTool(name))
		}
		v, err := c.check1(t)
		if err != nil {
			return c.fail(exitSettings, err)
		}
		all = append(all, v)
	}
	if format == "json" {
		text, err := json.Marshal(struct {
			Type string    `json:"type"`
			Data []verdict `json:"data"`
		}{"tools", all})
		if err != nil {
			return c.fail(exitFailure, err)
		}
		return c.tell(string(text) + "\n")
	}
	// The last column is as wide as it has to be.
	width := [3]int{len("TOOL"), len("STATE"), len("USES")}
	for _, v := range all {
		for i, text := range []string{v.Tool, v.State, v.Uses} {
			width[i] = max(width[i], len(text))
		}
	}
	var b strings.Builder
	for _, v := range append([]verdict{{"TOOL", "STATE", "USES", "MISSING"}}, all...) {
		line := fmt.Sprintf("%-*s %-*s %-*s %s", width[0], v.Tool, width[1], v.State, width[2], v.Uses, v.Missing)
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return c.tell(b.String())
}

// check1 compiles a tool with the options that its sample is made by. Some tools have to be told
// what to trace; the first line of the sample shows a command line that works. Nothing of this
// command's own settings is used but the machine.
func (c *command) check1(t *tool.Tool) (v verdict, err error) {
	one := &command{out: io.Discard, err: io.Discard, machine: c.machine, settings: settings{tool: t}}
	v = verdict{Tool: t.Name, State: "no"}
	if sample, ok := strings.CutPrefix(t.Sample[0], "#"); ok {
		words, err := child.SplitCommand(sample)
		if err != nil {
			return v, err
		}
		if err := parseArgs(toolTable(t), words[1:], &one.settings); err != nil {
			return v, err
		}
		if err := one.finishTool(); err != nil {
			return v, err
		}
	}
	f, _, named, err := one.script()
	if err != nil {
		return v, err
	}
	env, err := one.environment()
	if err != nil {
		return v, err
	}
	o := compile.Options{Environment: env, Library: tool.Library, Probe: one.probeOptions()}
	o.Probe.Named, o.Probe.Command = namedValues(named), new(false)
	one.asTool(&o)
	p, ds := c.compile(f, o)
	v.Missing = strings.Join(one.lacking, ", ")
	if p == nil {
		var text bytes.Buffer
		ds.Print(&text, source.PrintOptions{NoWarnings: true})
		// A table has room for one line.
		line, _, _ := strings.Cut(text.String(), "\n")
		if _, message, ok := strings.Cut(line, "ERROR: "); ok {
			line = message
		}
		v.Missing = errno.Message(fmt.Errorf("%s", line))
		return v, nil
	}
	if one.noVariant(p) != nil || p.Probes == 0 {
		return v, nil
	}
	if v.State = "ok"; len(one.lacking) > 0 {
		v.State = "fallback"
	}
	for _, pr := range p.Checked.Probes {
		if waits(pr) || v.Uses == "" {
			v.Uses = pr.Points[0].Name()
			if waits(pr) {
				break
			}
		}
	}
	return v, nil
}
