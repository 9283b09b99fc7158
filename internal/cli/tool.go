package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/notation"
	"github.com/hawktrace/hawk/internal/spell"
	"github.com/hawktrace/hawk/internal/strace"
	"github.com/hawktrace/hawk/internal/tool"
	"github.com/hawktrace/hawk/internal/unit"
)

// fromAbroad puts hawk's tool in place of one of another collection, unless that is a file. A
// script is recognized by what names of tools cannot hold; a file of the name is run as such.
func fromAbroad(args []string) []string {
	if strings.ContainsAny(args[0], "/ {") || args[0][:min(1, len(args[0]))] == "-" {
		return args
	}
	if _, err := os.Stat(args[0]); err != nil {
		if words, _ := tool.Abroad(args[0]); words != nil {
			return append(words, args[1:]...)
		}
	}
	return args
}

// isNoName reports whether a word can be nothing but the name of a tool, and there is no such file.
func isNoName(word string) bool {
	_, err := os.Stat(word)
	return errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(word, "/. {}") && !strings.HasPrefix(word, "-")
}

// noTool is the error for a name that is neither a tool, a command nor a file. The name may be
// all that somebody remembers, so that everything known of it is said.
func noTool(name string) error {
	names := tool.Names()
	hint := `"hawk tools" lists all`
	if tool.Exists(name) {
		hint = "options follow the name of a tool: hawk " + name + " …"
	}
	names = append(names, commandWords()...)
	if words, doc := tool.Abroad(name); !tool.Exists(name) && (words != nil || doc != "") {
		if words != nil {
			doc = "hawk " + strings.Join(words, " ")
		}
		hint = "here it is: " + doc
	} else if near := spell.Nearest(name, names); near != "" && !tool.Exists(name) {
		hint = "did you mean " + near + "? " + hint
	}
	return &usageError{fmt.Sprintf("ERROR: no tool and no file is called \"%s\"\nHINT: %s", name, hint), false}
}

// scriptOnly are the options that mean something to scripts or to hawk itself, and nothing to a
// tool. A tool that took them would seem to do what they say.
var scriptOnly = []string{
	"-e", "--list", "-I", "--include", "--test", "--bench", "--fmt", "--check", "--completion", "--man", "--version",
	"--aot", "--aot-runtime", "--mode", "--info", "--record-machine",
}

// toolTable is what a tool takes: its own options, and those of hawk's that it does not call
// something else. The tool's options come first, so that they win: a short letter of hawk's that
// the tool uses is taken off, and the long form stays. An option without a value can be taken back
// by --no-NAME. Rows are in the order in which a tool's --help would have them.
func toolTable(t *tool.Tool) []option {
	var own []option
	for i := range t.Options {
		o := &t.Options[i]
		own = append(own, option{short: o.Letter, long: o.Name, arg: o.Value, doc: o.Doc, values: o.Choices(),
			valued: t.RunsCommand() && !t.RunsProgram() && slices.Contains(strace.Valued, o.Name),
			set: do(func(s *settings, v string) error {
				if o.Here != "" {
					return parseArgs(own, []string{o.Here + v}, s)
				}
				return s.give(o, v)
			})})
		if o.Value == "" {
			own = append(own, option{long: "no-" + o.Name, set: do(func(s *settings, _ string) error {
				return s.give(o, "false")
			})})
		}
	}
	if t.RunsCommand() {
		lacking := strace.Lacking
		if t.RunsProgram() {
			lacking = strace.LackingCalls
		}
		own = append(own, lackingOptions(lacking)...)
		own = append(own, option{long: "format", arg: "FORMAT", doc: "text; json: an object for each call; csv: a row",
			set: text(func(s *settings) *string { return &s.format })})
	}
	own = append(own, option{long: "print-script", doc: "print the script with options and operands put in, and end",
		set: modeOf{modePrint, "--print-script"}})
	own = append(own, option{long: "no-follow", doc: "with -c: do not follow what it starts",
		set: flag(func(s *settings) *bool { return &s.noFollow })})
	for _, o := range options() {
		taken := func(short byte, long string) bool {
			return slices.ContainsFunc(own, func(p option) bool {
				return short != 0 && p.short == short || long != "" && p.long == long
			})
		}
		if o.group == compatible || slices.Contains(scriptOnly, "--"+o.long) ||
			o.long == "" && slices.Contains(scriptOnly, "-"+string(o.short)) || taken(0, o.long) {
			continue
		}
		if taken(o.short, "") {
			o.short = 0
		}
		if o.short != 0 || o.long != "" {
			own = append(own, o)
		}
	}
	return append(own, foreignOptions(t, own)...)
}

// foreignOptions are those by which other collections call an option of the tool or of hawk. Where
// there is nothing of the kind the error says what there is. What means something else here keeps
// its meaning.
func foreignOptions(t *tool.Tool, own []option) (out []option) {
	taken := map[string]bool{}
	for i := range own {
		for _, word := range own[i].spellings() {
			taken[word] = true
		}
	}
	for _, f := range t.Foreign() {
		// Here may be an option that this tool does not have.
		if len(f.Here) == 1 && strings.HasPrefix(f.Here[0], "--") && !taken[f.Here[0]] {
			continue
		}
		for _, word := range f.Words {
			// Letters of hawk's that tools may have are the tool's elsewhere too; the last one wins.
			ofTool := slices.ContainsFunc(t.Options, func(o tool.Option) bool { return word == "-"+string(o.Letter) })
			if word[0] != '-' || taken[word] && (len(word) > 2 || ofTool || strings.Contains(tool.Letters, word[1:])) {
				continue
			}
			taken[word] = true
			o := option{group: foreign, set: do(func(s *settings, v string) error {
				if f.Here == nil {
					return usagef("%s: there is no %s here\nHINT: %s", t.Name, word, f.Doc)
				}
				if f.Kind != "" {
					return s.ofKind(own, word, v)
				}
				words := slices.Clone(f.Here)
				if n := len(words); n > 0 && strings.HasSuffix(words[n-1], "=") {
					words[n-1] += v
				} else if f.Value {
					words = append(words, v)
				}
				// The words are read as if they had been typed.
				return parseArgs(own, words, s)
			})}
			switch {
			case f.Here == nil:
				o.arg = "[=VALUE]" // so that it is not asked for first
			case f.Value:
				o.arg = "VALUE"
			}
			if o.long = strings.TrimPrefix(word, "--"); o.long == word {
				o.long, o.short = "", word[1]
			}
			out = append(out, o)
		}
	}
	return out
}

// ofKind reads an option whose value says by its first word which option it is here. Where a comma ends
// that, what stands before is the value without the option, to which others are added.
func (s *settings) ofKind(own []option, word, value string) error {
	kinds := ""
	for _, f := range s.tool.Elsewhere {
		if f.Words[0] != word {
			continue
		}
		kinds += " " + f.Kind + "FILE"
		if rest, ok := strings.CutPrefix(value, f.Kind); ok && rest != "" {
			if s.given[strings.TrimPrefix(f.Here[0], "--")] == nil {
				rest = f.Here[1] + rest
			}
			return parseArgs(own, []string{f.Here[0], rest}, s)
		}
	}
	return usagef("%s: %s has one of the values%s", s.tool.Name, word, kinds)
}

// meantElsewhere adds to a mistake in the value of an option what says here what the option says in
// other collections, where it is another one. Who types -p 5 in the habit of another tool is
// told what -p is there and here.
func (s *settings) meantElsewhere(err error, word string) error {
	var u *usageError
	if !errors.As(err, &u) || strings.Contains(u.msg, "HINT") {
		return err
	}
	if hint := s.elsewhere(word); hint != "" {
		return &usageError{u.msg + hint, false}
	}
	return err
}

// elsewhere is a hint about an option that is another one in other collections, "" if there is none.
func (s *settings) elsewhere(word string) string {
	if s.tool != nil {
		for _, f := range s.tool.Elsewhere {
			if slices.Contains(f.Words, word) {
				return "\nHINT: for " + word + " of other collections: " + f.Doc
			}
		}
	}
	return ""
}

// give notes the value of a tool's option: the last one, or all of a list. Values are checked
// here and not by the script, so that an error names the option.
func (s *settings) give(o *tool.Option, text string) error {
	values := []string{text}
	if o.List() && o.Unit() != unit.Spec {
		values = strings.Split(text, ",")
	}
	// An option that is only switched on has the value true for the script.
	if o.Value == "" && text == "" {
		values[0] = "true"
	}
	for i, v := range values {
		read, err := unit.Read(o.Unit(), o.Doc, v)
		if choices := o.Choices(); choices != nil && !slices.Contains(choices, v) {
			err = noChoice("\""+v+"\" is not known", spell.Nearest(v, choices), choices)
		}
		if err != nil {
			return usagef("%s: option --%s: %v", s.tool.Name, o.Name, err)
		}
		values[i] = read
	}
	if s.given == nil {
		s.given = map[string][]string{}
	}
	if o.List() || s.tool.RunsCommand() { // which counts its letters, and reads its values itself
		// None, which meant none of those by default, is none of several.
		if before := s.given[o.Name]; len(before) != 1 || before[0] != "none" || !o.List() {
			values = append(before, values...)
		}
	}
	s.given[o.Name] = values
	return nil
}

// finishTool gives operands to the options of their names. It is called after all options, since
// what an operand means can depend on one: a process is not asked for where -c starts one.
func (c *command) finishTool() error {
	if c.command != "" && !c.noFollow {
		c.follow = true
	}
	rest := c.operands
	if _, err := strconv.Atoi(c.output); err == nil {
		if hint := c.elsewhere("-o"); hint != "" {
			c.warn("the output goes to a file called " + c.output + hint)
		}
	}
	if c.tool.RunsCommand() && !c.stop {
		read := c.asStrace
		if c.tool.RunsProgram() {
			read = c.runs
		}
		if err := read(); err != nil {
			return err
		}
		rest = nil
	}
	// The last operand may take all that is left (Rest).
	for i := range c.tool.Operands {
		o := &c.tool.Operands[i]
		if o.Kind == "pid" {
			// A process is not needed where something else says what is traced.
			if c.pid != 0 || c.command != "" || c.given["file"] != nil || c.stop {
				continue
			}
			if len(rest) == 0 {
				return c.noOperand(errors.New("which process is to be traced?"))
			}
			if err := c.setPID(rest[0]); err != nil {
				return err
			}
			rest = rest[1:]
			continue
		}
		for j := 0; len(rest) > 0 && (j == 0 || o.Rest); j++ {
			value, others, err := c.operandValue(o, rest[0])
			if err != nil {
				return err
			}
			if others {
				break
			}
			if c.given == nil {
				c.given = map[string][]string{}
			}
			// Several expressions about the same names make one pattern.
			if c.narrow[value] == nil || !slices.Contains(c.given[o.Name], value) {
				c.given[o.Name] = append(c.given[o.Name], value)
			}
			if o.Kind == "probe" {
				c.entitle(rest[0])
			}
			rest = rest[1:]
		}
		if c.given[o.Name] == nil && !c.stop {
			if err := missing(o, i == 0); err != nil {
				return c.noOperand(err)
			}
		}
	}
	if translate := notation.Of(c.tool.Name); translate != nil && !c.stop {
		if err := c.translate(translate); err != nil {
			return err
		}
	}
	if len(rest) > 0 && !c.stop {
		return c.noOperand(fmt.Errorf("\"%s\" is one operand too many", rest[0]))
	}
	return nil
}

// entitle has a tool with a title say what was asked for, as it was written, unless --title does.
func (c *command) entitle(operand string) {
	for i := range c.tool.Options {
		if titles := c.given["title"]; c.tool.Options[i].Name == "title" && (titles == nil || c.entitled) {
			c.given["title"], c.entitled = []string{strings.Join(append(titles, operand), ", ")}, true
		}
	}
}

// operandValue reads what may be an operand; others says that it is a later one.
func (c *command) operandValue(o *tool.Operand, text string) (value string, others bool, err error) {
	of := ""
	switch o.Kind {
	case "time":
		of = "TIME"
	case "tty":
		of = "TTY"
	}
	if value, err = unit.Read(of, o.Doc, text); err != nil {
		return "", false, usagef("%s: %s: %v", c.tool.Name, o.Name, err)
	}
	if o.Optional && !slices.Contains(o.Choices, value) && strings.Trim(value, "0123456789.mnsu") == "" {
		return "", true, nil // a time or a number is the next operand
	}
	switch {
	case o.Kind == "probe":
		if value, err = c.probeOperand(value); err != nil {
			return "", false, usagef("%s: %s: %v", c.tool.Name, o.Name, err)
		}
	case o.Kind == "choice" && !slices.Contains(o.Choices, value):
		near := spell.Nearest(value, o.Choices)
		return "", false, c.noOperand(noChoice("\""+value+"\" is no "+o.Name, near, o.Choices))
	}
	return value, false, nil
}

// missing is the error for an operand that was not given, nil if the tool does without.
func missing(o *tool.Operand, first bool) error {
	switch {
	case o.Kind == "choice" && !o.Optional:
		return noChoice("which "+o.Name+"?", "", o.Choices)
	case o.Kind == "tty":
		return errors.New("which terminal is to be watched?")
	case o.Kind == "probe" && first:
		return errUntold
	}
	return nil
}

// probeOperand is an operand that says what to trace, in hawk's form. With --regexp its last part is a
// regular expression of whole names; in its place stands a pattern for all names, which narrow narrows.
func (c *command) probeOperand(text string) (string, error) {
	given := c.given["regexp"]
	if given == nil || given[len(given)-1] == "false" {
		return c.attachPoint(text), nil
	}
	before, expression := tool.CutLast(text)
	if expression == "" {
		return "", fmt.Errorf("behind %s a regular expression is to stand", before)
	}
	re, err := regexp.Compile("^(?:" + expression + ")$")
	if err != nil {
		// The user has not written what is put around.
		if _, err = regexp.Compile(expression); err == nil {
			err = fmt.Errorf("\"%s\" is no regular expression", expression)
		}
		return "", err
	}
	pattern, matches := c.attachPoint(before+"*"), re.MatchString
	if other := c.narrow[pattern]; other != nil {
		one := matches
		matches = func(name string) bool { return other(name) || one(name) }
	}
	if c.narrow == nil {
		c.narrow = map[string]func(name string) bool{}
	}
	// Attach points know wildcards alone, so that the names are chosen when a pattern has been
	// expanded.
	c.narrow[pattern] = matches
	return pattern, nil
}

// attachPoint is what to trace in hawk's form. Functions of the kernel are kept in mind for
// untraceable. Without kprobes fentry probes take their place, which only some kernels and
// functions have.
func (c *command) attachPoint(text string) string {
	kprobes := c.machine.HasKprobes()
	point := tool.Probe(text, kprobes)
	if !kprobes && point != text {
		for _, kind := range [][2]string{{"fentry:", "kprobe:"}, {"fexit:", "kretprobe:"}} {
			if function, ok := strings.CutPrefix(point, kind[0]); ok {
				c.functions = append(c.functions, kind[1]+function, point)
			}
		}
	}
	return point
}

// untraceable is the error for functions of the kernel where it lets nobody trace them, else nil.
func (c *command) untraceable() error {
	if len(c.functions) == 0 {
		return nil
	}
	why := c.machine.Has(machine.Fentry)
	if why == nil {
		return nil
	}
	return fmt.Errorf("%s needs one of: %s\nHINT: %w\nHINT: %w\nHINT: events of the kernel are traced all the "+
		"same: hawk -l 'tracepoint:*'", c.tool.Name, strings.Join(slices.Compact(c.functions), ", "),
		machine.ErrNoKprobes, why)
}

// noChoice is the error for what is none of those that there are, with the nearest.
func noChoice(problem, near string, choices []string) error {
	hint := ""
	if near != "" {
		hint = "did you mean " + near + "? "
	}
	return fmt.Errorf("%s\nHINT: %sone of %s", problem, hint, strings.Join(choices, ", "))
}

var errUntold = errors.New("what is to be traced?")

// noOperand is the error for an operand, with how the tool is called if that says nothing of it.
func (c *command) noOperand(err error) error {
	if strings.Contains(err.Error(), "HINT") {
		return usagef("%s: %v", c.tool.Name, err)
	}
	return usagef("%s: %v\nHINT: hawk %s", c.tool.Name, err, strings.Join(c.tool.Synopsis, "\nHINT: hawk "))
}

// translate makes the tool's script of its operands. trace and argdist have a notation of their own
// for what to trace, out of which package notation writes a script. The options that it reads are
// no longer the script's. The tool is copied, as in asStrace.
func (c *command) translate(t *notation.Translator) error {
	operands := c.tool.Operands[0].Name
	given := map[string][]string{}
	for _, name := range append([]string{operands}, t.Options...) {
		if values := c.given[name]; values != nil {
			given[name] = values
			delete(c.given, name)
		}
	}
	if len(given) == 0 {
		return c.noOperand(errUntold)
	}
	given[""] = given[operands]
	script, err := t.Translate(given, c.attachPoint, &c.places)
	if err != nil {
		return usagef("%s: %v", c.tool.Name, err)
	}
	one := *c.tool
	one.Script, c.tool = script, &one
	return nil
}

// toolValues are the values of the tool's options as scripts take them.
func (c *command) toolValues() (named []string) {
	for name, value := range c.toolTexts() {
		named = append(named, "--"+name+"="+value)
	}
	// A map has no order, and a run and its dump should be the same each time.
	slices.Sort(named)
	return named
}

// toolTexts are the values by the names of the options: those of a list with commas in
// between, attach points in hawk's form, bits of flags as one number.
func (c *command) toolTexts() map[string]string {
	texts := map[string]string{}
	for name, values := range c.given {
		texts[name] = strings.Join(values, ",")
	}
	// An attach point may be in the short form.
	for i := range c.tool.Options {
		o := &c.tool.Options[i]
		if values := c.given[o.Name]; len(values) > 0 && o.Unit() == "PROBE" {
			points := make([]string, len(values))
			for i, v := range values {
				points[i] = c.attachPoint(v)
			}
			texts[o.Name] = strings.Join(points, ",")
		}
	}
	for i := range c.tool.Options {
		o := &c.tool.Options[i]
		if values := c.given[o.Name]; len(values) > 0 && (strings.HasSuffix(o.Unit(), unit.Flag) || o.Unit() == "SIG") {
			bits := uint64(0)
			for _, v := range values {
				n, _ := strconv.ParseUint(v, 10, 64) // as unit.Read has written it
				bits |= n
			}
			texts[o.Name] = strconv.FormatUint(bits, 10)
		}
	}
	return texts
}

// toolFail reports a mistake in a tool's options.
func (c *command) toolFail(err error) int {
	status := c.fail(exitUsage, fmt.Errorf("%s: %w", c.tool.Name, err))
	fmt.Fprint(c.err, c.seeHelp())
	return status
}
