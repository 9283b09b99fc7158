package tool

import (
	"slices"
	"strings"
)

// A Foreign is how other collections of tools call an option of a tool, or the tool. It is data
// in headers and not code, so that whoever writes a tool can say what it replaces.
type Foreign struct {
	Words []string // all that it is called: -s, --csv, javaflow
	Value bool     // the option has a value
	Kind  string   // what its value begins with, a word and a colon, and is cut off here; "" for all values
	Here  []string // what is put in its place, in front of the value; nil: nothing is quite the same
	Doc   string   // what to type, or what there is
}

// everywhere are options of other collections that many of their tools have.
const everywhere = `
  --csv                      = -f csv
  --json                     = -f json
  --folded                   = -f folded
  --noclear                  = --no-clear
  --maxrows N                = --rows
  --nosummary                = --no-summary
  --user-stacks-only         = --user-stacks
  --user-stack               = --user-stacks
  --kernel-stacks-only       = --kernel-stacks
  --kernel-stack             = --kernel-stacks
  --user-threads-only        = --user-threads
  --kernel-threads-only      = --kernel-threads
  --min-block-time US        = --min
  --max-block-time US        = --max
  --extended_fields          = --extended
  --annotations              = --annotate
  --localport PORT           = --lport
  --remoteport PORT          = --rport
  --threshold MS             = --minimum
  --stack-storage-size N     = --max-keys
  --perf-max-stack-depth N   = --stack-depth
  --utc                      TZ=UTC in front of hawk shows times in UTC
  --buffer-pages N           HAWK_PERF_RB_PAGES in the environment is the size of the buffer, in pages
  --ebpf                     -d asm shows the programs; --print-script the script
  --cgroupmap MAP            --cgroup PATH and --container NAME choose tasks by control group
  --mntnsmap MAP             --container NAME chooses the tasks of a container
  --debug                    -d STAGE shows what stages of the compiler make, --print-script the script
`

// spelled is how the option is written: its words, and what the value begins with.
func (f *Foreign) spelled(between string) string {
	text := strings.Join(f.Words, between)
	if f.Kind != "" {
		text += " " + f.Kind + "FILE"
	}
	return text
}

// elsewhere reads the section of that name.
func elsewhere(lines []string) (out []Foreign) {
	for _, item := range items(lines) {
		// Two blanks end the names, as in the lists of options.
		names, doc, _ := strings.Cut(item[0], "  ")
		f := Foreign{Doc: text(strings.TrimSpace(doc), item[1:])}
		for word := range strings.FieldsSeq(strings.ReplaceAll(names, ",", " ")) {
			if kind, value, of := strings.Cut(word, ":"); of && strings.ToUpper(value) == value {
				f.Value, f.Kind = true, kind+":"
			} else if strings.ToUpper(word) == word && word[0] != '-' {
				f.Value = true
			} else {
				f.Words = append(f.Words, word)
			}
		}
		if here, same := strings.CutPrefix(f.Doc, "="); same {
			// The equals sign says that the words here do all that the others did.
			f.Here, f.Doc = strings.Fields(here), strings.TrimSpace(here)
			switch {
			case f.Doc != "":
			case f.Value:
				f.Doc = "the operand" // the value alone is put there
			default:
				f.Doc = "nothing more: so it is here"
			}
		}
		out = append(out, f)
	}
	return out
}

// Foreign are the options of other collections that the tool knows; its own say of first.
func (t *Tool) Foreign() []Foreign {
	// The first that fits counts, so that a tool can mean something else by a word.
	return append(t.Elsewhere, elsewhere(strings.Split(everywhere, "\n"))...)
}

// Abroad are the names of tools of other collections, with blanks around.
func (t *Tool) Abroad() string {
	text := " "
	for _, f := range t.Elsewhere {
		for _, word := range f.Words {
			// Options are in the same list; names of tools have no dash.
			if word[0] != '-' {
				text += word + " "
			}
		}
	}
	return text
}

// Abroad finds what a tool of another collection is here: the words of a command line, or else
// what to say. What packages add to names, the tools of hawk have behind theirs too.
func Abroad(name string) (words []string, hint string) {
	// Distributions and collections add these to the same names.
	for _, end := range []string{"-bpfcc", ".bt", ".py", ".d"} {
		name = strings.TrimSuffix(name, end)
	}
	if Exists(name) {
		return []string{name}, ""
	}
	for _, t := range All() {
		for _, f := range t.Elsewhere {
			if slices.Contains(f.Words, name) {
				return f.Here, f.Doc
			}
		}
	}
	return nil, ""
}
