package notation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The options of argdist that are given specifiers.
const (
	counts     = "counter"
	histograms = "histogram"
	textSize   = "string-size"
)

// A specifier is what argdist is given:
// {p|r|t|u}:[library]:function(signature)[:type[,type…]:expression[,expression…][:filter]][#label].
// Its label heads the report, and is the whole text unless the user has given another.
type specifier struct {
	probe
	types []string
	exprs []string
	label string
	hist  bool
}

// argdistPrelude is what all distributions have.
// max_strlen is the size of keys: without a bound texts would not fit the keys of older
// kernels.
const argdistPrelude = `import "tools/lib/second.bt";

config = {
  print_maps_on_exit = false;
  max_map_keys = 65536;
  max_strlen = %d;
}

macro wanted()
{
  getopt("tid", 0) == 0 || tid == getopt("tid", 0)
}

interval:$duration
/getopt("duration", 0) > 0/
{
  exit();
}
`

// Bytes of a text that are counted: of any number of texts without the option. Kernels before 5.11 have
// keys of 512 bytes.
const (
	textBytes    = 80
	minTextBytes = 1
	maxTextBytes = 1024
)

// argdist translates specifiers: each is a probe, and values whose distribution is shown.
// Operands by themselves are of the sort that -C or -H says; both at once leave open which they
// are.
func argdist(given map[string][]string, point func(string) string, where *Places) (string, error) {
	hist := given[histograms] != nil
	if operands := given[""]; operands != nil {
		if hist == (given[counts] != nil) {
			return "", fmt.Errorf("write -C (counts) or -H (histogram) in front of \"%s\"", operands[0])
		}
	}
	var all []*specifier
	read := func(texts []string, hist bool) error {
		for _, text := range texts {
			s, err := parseSpecifier(text, hist)
			if err != nil {
				return err
			}
			all = append(all, s)
		}
		return nil
	}
	err := read(given[counts], false)
	if err == nil {
		err = read(given[histograms], true)
	}
	if err == nil {
		err = read(given[""], hist)
	}
	if err != nil {
		return "", err
	}
	size := textBytes
	if text := given[textSize]; text != nil {
		if size, err = strconv.Atoi(text[0]); err != nil || size < minTextBytes || size > maxTextBytes {
			return "", fmt.Errorf("texts have %d to %d bytes", minTextBytes, maxTextBytes)
		}
	}
	var b, reports strings.Builder
	fmt.Fprintf(&b, argdistPrelude, size)
	for i, s := range all {
		if err := s.write(&b, &reports, i, point(s.point), where); err != nil {
			return "", err
		}
	}
	fmt.Fprintf(&b, "\ninterval:$interval,\nend\n/due(@reports)/\n{\n%s  reported(@reports);\n}\n", reports.String())
	return b.String(), nil
}

// parseSpecifier reads the text of a specifier.
// Errors show the text with a mark below, since a shell's quotes make mistakes hard to see.
func parseSpecifier(text string, hist bool) (*specifier, error) {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\n", " "))
	s := &specifier{hist: hist, label: text}
	s.text = text
	r := &reader{text: text}
	if end := strings.IndexByte(text, '('); end > 0 {
		s.point, r.at = strings.TrimSpace(text[:end]), end
	}
	if s.point == "" {
		return nil, r.fail("a function with its arguments in parentheses is expected here: c:malloc(size_t n)")
	}
	inner, err := r.parentheses()
	if err != nil {
		return nil, err
	}
	if s.signature, err = parameters(inner); err != nil {
		return nil, r.fail("%v", err)
	}
	r.spaces()
	if r.next() == ':' {
		types, at := "", r.at
		if types, err = r.section(); err != nil {
			return nil, err
		}
		if r.next() != ':' {
			return nil, r.fail("types and values are expected here: int:n")
		}
		s.valuesAt = r.at
		values, err := r.section()
		if err != nil {
			return nil, err
		}
		if s.exprs, err = (&reader{text: values}).list(); err != nil {
			return nil, err
		}
		for one := range strings.SplitSeq(types, ",") {
			s.types = append(s.types, strings.Join(strings.Fields(one), " "))
		}
		if len(s.types) != len(s.exprs) || slices.Contains(s.types, "") {
			r.at = at
			return nil, r.fail("the number of types is not that of values: %d and %d", len(s.types), len(s.exprs))
		}
		if r.next() == ':' {
			start := r.at
			if s.filter, err = r.section(); err != nil {
				return nil, err
			}
			s.filterAt = find(text, start, s.filter)
		}
	}
	if r.next() == '#' {
		s.label, r.at = strings.TrimSpace(text[r.at+1:]), len(text)
	}
	switch {
	case r.at < len(text):
		return nil, r.fail("a colon or a # is expected here")
	case hist && len(s.exprs) > 1:
		return nil, r.fail("a histogram is of one value")
	case hist && len(s.types) > 0 && isText(s.types[0]):
		return nil, r.fail("a histogram is of numbers, and not of text: -C counts it")
	}
	return s, nil
}

// section reads what stands between a colon and the next one, or the label.
// The colon of a ? : is a part of the value.
func (r *reader) section() (string, error) {
	r.at++
	start, choices := r.at, 0
	for ; r.at < len(r.text); r.at++ {
		switch r.text[r.at] {
		case '(':
			if _, err := r.parentheses(); err != nil {
				return "", err
			}
			r.at--
		case '"', '\'':
			if err := r.skipQuoted(); err != nil {
				return "", err
			}
			r.at--
		case '?':
			choices++
		case ':', '#':
			if r.text[r.at] == '#' || choices == 0 {
				return strings.TrimSpace(r.text[start:r.at]), nil
			}
			choices--
		}
	}
	return strings.TrimSpace(r.text[start:]), nil
}

// isText says that a value of a type is shown as what it points to.
// Signed and unsigned bytes are not text: u8* is a pointer to show.
func isText(typ string) bool {
	typ = strings.ReplaceAll(strings.TrimPrefix(typ, "const "), " ", "")
	return typ == "char*"
}

// write adds the probe to a script, and what it shows to the reports.
// Each specifier has a map of its own, by its number. The condition that the entry was seen
// stands in front of the filter, which may use it.
func (d *specifier) write(b, reports *strings.Builder, id int, point string, where *Places) error {
	s := newScope(&d.probe, id, point, where)
	s.textSize = ""
	types, exprs, from := d.types, d.exprs, d.valuesAt
	if len(exprs) == 0 && s.isExit {
		types, exprs = []string{"int64"}, []string{"retval"}
	}
	condition, err := s.condition()
	if err != nil {
		return err
	}
	var values, names []string
	for i, expr := range exprs {
		at := 0
		if d.exprs != nil { // a value that nobody wrote stands nowhere
			at = find(d.text, from, expr)
			from = at + len(expr)
		}
		name, value, err := s.counted(types[i], expr, at)
		if err != nil {
			return err
		}
		values, names = append(values, value), append(names, name)
	}
	store, show := "", ""
	switch data := fmt.Sprintf("@values%d", id); {
	case d.hist && len(values) == 0:
		return s.fail(len(d.text), "a histogram needs a value: :int:n")
	case d.hist:
		store = fmt.Sprintf("%s = hist(%s)", data, values[0])
		show = fmt.Sprintf("show(%q, %s)", strings.Join(strings.Fields(exprs[0]), ""), data)
	case len(values) == 0:
		store = fmt.Sprintf("%s[\"total calls\"] = count()", data)
		show = fmt.Sprintf("table(\"    COUNT:<10 EVENT | %%s\", getopt(\"top\", 0), %s)", data)
	default:
		store = fmt.Sprintf("%s[%s] = count()", data, strings.Join(values, ", "))
		show = fmt.Sprintf("table(%q, getopt(\"top\", 0), %s)",
			"    COUNT:<10 EVENT | "+strings.Join(names, ", "), data)
	}
	s.writeEntry(b)
	fmt.Fprintf(b, "\n%s\n/%s/\n{\n  %s;\n}\n", point, s.begun()+condition, store)
	s.writeExit(b)
	fmt.Fprintf(reports, "  time(%q);\n", "[%H:%M:%S] "+strings.ReplaceAll(d.label, "%", "%%")+"\n")
	fmt.Fprintf(reports, "  if comptime (getopt(\"cumulative\")) {\n    %s;\n  } else {\n    %[1]s;\n"+
		"    clear(@values%d);\n  }\n", show, id)
	return nil
}

// counted is a value as it is counted, and what shows it: its text, a name with a conversion.
// The type that the user has written decides how a value is shown: nothing here knows the types
// of the program.
func (s *scope) counted(typ, expr string, at int) (name, value string, err error) {
	name = strings.ReplaceAll(strings.Join(strings.Fields(expr), " "), "%", "%%")
	if isText(typ) {
		value, err = s.text(expr, at)
		return name + " = %s", value, err
	}
	if value, err = s.translate(expr, at); err != nil {
		return "", "", err
	}
	if strings.HasSuffix(typ, "*") || strings.HasSuffix(name, "flags") {
		return name + " = %#lx", cast("uint64", value), nil
	}
	if strings.HasPrefix(typ, "u") || typ == "size_t" {
		return name + " = %lu", cast(typ, value), nil
	}
	return name + " = %ld", cast(typ, value), nil
}
