package notation

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hawktrace/hawk/internal/source"
)

// words are what values may name beside arguments, in hawk's words.
// The words are those of two collections of tools, of which the second writes them in capitals;
// $pid is the kernel's word there, and so a thread.
var words = map[string]string{
	"$uid": "uid", "$gid": "gid", "$pid": "tid", "$tgid": "pid", "$cpu": "cpu", "$ts": "nsecs", "$task": "curtask",
	"$retval": "retval", "NULL": "0",
	"$UID": "uid", "$GID": "gid", "$PID": "pid", "$TID": "tid", "$CPU": "cpu", "$COMM": "comm",
}

// Arguments are counted from 1 in the notation, and from 0 in hawk.
var numbered = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^arg([1-9][0-9]*)$`) })

// exactly are the types that arguments have without a cast.
var exactly = []string{"u64", "uint64_t", "unsigned long", "unsigned long long", "size_t", "long unsigned int"}

// A scope is what the names in the values of a probe mean.
// It is made for one probe and remembers what has to be kept from the entry of a function to
// its return.
type scope struct {
	probe  *probe
	point  string
	isExit bool
	id     int      // of the probe
	entry  []string // what $entry() has asked for, translated

	where   *Places
	operand *source.File

	textSize string // how str() is told how long texts are, with a comma in front
}

// entries are the kinds of probes at the entry of functions, by those at returns.
var entries = map[string]string{"kretprobe": "kprobe", "uretprobe": "uprobe", "fexit": "fentry"}

// newScope makes the scope of a probe. All of its maps have its number in their names.
func newScope(p *probe, id int, point string, where *Places) *scope {
	kind, _, _ := strings.Cut(point, ":")
	s := &scope{probe: p, point: point, isExit: entries[kind] != "", id: id, where: where,
		operand: source.NewFile("probe", p.text), textSize: ", comptime getopt(\"string-size\", 200)"}
	s.addPoint(point)
	return s
}

// fail is an error at a byte of the probe's text.
func (s *scope) fail(at int, format string, args ...any) error {
	return &ParseError{s.probe.text, at, fmt.Sprintf(format, args...)}
}

// condition is when the probe does something.
func (s *scope) condition() (string, error) {
	if s.probe.filter == "" {
		return "wanted()", nil
	}
	filter, err := s.translate(s.probe.filter, s.probe.filterAt)
	return "wanted() && (" + filter + ")", err
}

// depth is the map of how many calls are under way, by thread: a function may call itself.
func (s *scope) depth() string { return fmt.Sprintf("@depth%d", s.id) }

// writeEntry adds the probe at the entry that keeps what $entry() asks for.
// The number of calls under way is a part of the key, and so the values of a call inside of
// another do not overwrite the outer one's.
func (s *scope) writeEntry(b *strings.Builder) {
	if len(s.entry) == 0 {
		return
	}
	kind, rest, _ := strings.Cut(s.point, ":")
	point := entries[kind] + ":" + rest
	s.addPoint(point)
	fmt.Fprintf(b, "\n%s\n/wanted()/\n{\n", point)
	for i, value := range s.entry {
		fmt.Fprintf(b, "  %s[tid, (uint64)%s[tid]] = %s;\n", s.kept(i), s.depth(), value)
	}
	fmt.Fprintf(b, "  %s[tid]++;\n}\n", s.depth())
}

// begun is a condition in front of others: the entry of the call was seen.
// A call that was under way when tracing began has kept nothing.
func (s *scope) begun() string {
	if len(s.entry) == 0 {
		return ""
	}
	return s.depth() + "[tid] > 0 && "
}

// writeExit adds the probe at the return that forgets what was kept.
// It stands behind the probe that reads, as probes of one point run in the order of the script.
func (s *scope) writeExit(b *strings.Builder) {
	if len(s.entry) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n/%s[tid] > 0/\n{\n  %[2]s[tid]--;\n", s.point, s.depth())
	for i := range s.entry {
		fmt.Fprintf(b, "  delete(%s, (tid, (uint64)%s[tid]));\n", s.kept(i), s.depth())
	}
	b.WriteString("}\n")
}

// translate puts an expression into hawk's words. Text in quotes stays as it is.
// It goes word by word and does not parse: operators are the same in both, and hawk reports
// what is wrong with the rest; at is where the expression stands in the probe's text.
func (s *scope) translate(text string, at int) (string, error) {
	var b strings.Builder
	var from []int // of each byte that is written
	add := func(out string, i int) {
		b.WriteString(out)
		for range len(out) {
			from = append(from, at+i)
		}
	}
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '"' || c == '\'':
			r := &reader{text: text, at: i}
			if err := r.skipQuoted(); err != nil {
				return "", err
			}
			add(text[i:r.at], i)
			i = r.at
		case c == '-' && strings.HasPrefix(text[i:], "->") && strings.HasSuffix(b.String(), "args"):
			add(".", i)
			i += 2
		case c == '$' || isWord(c):
			end := i + 1
			for end < len(text) && isWord(text[end]) {
				end++
			}
			word := text[i:end]
			member := strings.HasSuffix(b.String(), ".") || strings.HasSuffix(b.String(), "->")
			out, used, err := s.word(word, text[end:], member, at+end)
			if err != nil {
				return "", err
			}
			add(out, i)
			i = end + used
		default:
			add(text[i:i+1], i)
			i++
		}
	}
	s.add(b.String(), append(from, at+len(text)))
	return b.String(), nil
}

// word translates a word; used is how much of what follows, which stands at end, belongs to it.
// A name that is none of these is left as it is: it may be an enumerator, a constant or a
// builtin of hawk.
func (s *scope) word(word, rest string, member bool, end int) (out string, used int, err error) {
	at := end - len(word)
	if member {
		return word, 0, nil
	}
	switch word {
	case "STRCMP", "$entry":
		if !strings.HasPrefix(rest, "(") {
			return "", 0, s.fail(at, "%s needs arguments in parentheses", word)
		}
		r := &reader{text: rest}
		inner, err := r.parentheses()
		if err != nil {
			return "", 0, err
		}
		if word == "STRCMP" {
			out, err = s.strcmp(inner, at, find(rest, 0, inner)+end)
		} else {
			out, err = s.atEntry(inner, at, find(rest, 0, inner)+end)
		}
		return out, r.at, err
	}
	if w, ok := words[word]; ok {
		return w, 0, nil
	}
	if word == "$latency" {
		if !s.isExit {
			return "", 0, s.fail(at, "$latency is for returns")
		}
		return "(uint64)(nsecs - " + s.keep("nsecs") + ")", 0, nil
	}
	if m := numbered().FindStringSubmatch(word); m != nil {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			return "", 0, err
		}
		if s.isExit {
			return "", 0, s.fail(at, "%s is gone at a return: write $entry(%[1]s)", word)
		}
		return fmt.Sprintf("arg%d", n-1), 0, nil
	}
	i := slices.IndexFunc(s.probe.signature, func(p parameter) bool { return p.name == word })
	if i < 0 {
		return word, 0, nil
	}
	if s.isExit {
		return "", 0, s.fail(at, "%s is gone at a return: write $entry(%[1]s)", word)
	}
	return cast(s.probe.signature[i].typ, fmt.Sprintf("arg%d", i)), 0, nil
}

// cast gives an argument the type that the signature says, since registers have no sign.
func cast(typ, value string) string {
	if slices.Contains(exactly, typ) {
		return value
	}
	return "((" + typ + ")" + value + ")"
}

// strcmp is the comparison of a text with what a pointer leads to, in either order.
func (s *scope) strcmp(inner string, at, innerAt int) (string, error) {
	r := &reader{text: inner}
	args, err := r.list()
	if err != nil || len(args) != 2 {
		return "", s.fail(at, "STRCMP takes a \"text\" and a pointer")
	}
	pointer := find(inner, len(args[0]), args[1])
	if !strings.HasPrefix(args[0], `"`) {
		args[0], args[1] = args[1], args[0]
		pointer = 0
	}
	value, err := s.text(args[1], innerAt+pointer)
	if err != nil {
		return "", err
	}
	return "(" + value + " == " + args[0] + ")", nil
}

// atEntry is the value that an expression had when the function was entered.
// The copy of the scope keeps nothing itself: an entry inside of an entry is an error.
func (s *scope) atEntry(inner string, word, innerAt int) (string, error) {
	if !s.isExit {
		return "", s.fail(word, "$entry() is for returns: at the entry the value itself is there")
	}
	at := *s
	at.isExit = false
	value, err := at.translate(inner, innerAt)
	if err != nil {
		return "", err
	}
	return s.keep(value), nil
}

// keep is what a value was at the entry.
// Two uses of one expression share a map.
func (s *scope) keep(value string) string {
	i := slices.Index(s.entry, value)
	if i < 0 {
		i, s.entry = len(s.entry), append(s.entry, value)
	}
	return fmt.Sprintf("%s[tid, (uint64)%s[tid] - 1]", s.kept(i), s.depth())
}

// kept is the map with value i of the entries.
func (s *scope) kept(i int) string { return fmt.Sprintf("@entry%d_%d", s.id, i) }

// text is what a pointer, or an array, leads to. A value that ends in @user points to memory of the
// process.
func (s *scope) text(value string, at int) (string, error) {
	value, user := strings.CutSuffix(value, "@user")
	out, err := s.translate(value, at)
	if err != nil {
		return "", err
	}
	if out == "comm" {
		return out, nil
	}
	if user {
		out = "uptr(" + out + ")"
	}
	return "str(" + out + s.textSize + ")", nil
}

// Lengths are left alone, as hawk has the same ones; %K and %U are names of functions in kernel
// and program.
var conversion = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`%[-+ #0]*[0-9]*(?:\.[0-9]+)?(?:hh|h|ll|l|z|j)?[a-zA-Z%]`)
})

// message translates a format and its values.
// Too few values are found here, before the script is compiled: its text is not what the user
// wrote.
func (s *scope) message() (format string, values []string, err error) {
	n, from := 0, s.probe.valuesAt
	format = conversion().ReplaceAllStringFunc(s.probe.format, func(c string) string {
		verb := c[len(c)-1]
		if verb == '%' {
			return c
		}
		if n++; n > len(s.probe.values) || err != nil {
			return c
		}
		value := s.probe.values[n-1]
		at := find(s.probe.text, from, value)
		from = at + len(value)
		var out string
		switch verb {
		case 's':
			out, err = s.text(value, at)
		case 'K', 'U':
			if out, err = s.translate(value, at); verb == 'K' {
				out = "ksym(" + out + ")"
			} else {
				out = "usym(" + out + ")"
			}
			c = c[:len(c)-1] + "s"
		default:
			out, err = s.translate(strings.TrimSuffix(value, "@user"), at)
		}
		values = append(values, out)
		return c
	})
	if err == nil && n != len(s.probe.values) {
		err = s.fail(s.probe.formatAt, "the format has %d conversions, and there are %d values", n, len(s.probe.values))
	}
	return format, values, err
}
