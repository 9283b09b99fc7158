package strace

import (
	"fmt"
	"io"
	"maps"
	"strings"

	"github.com/hawktrace/hawk/internal/foreign"
)

// Bounds of a file of prototypes, whoever wrote it.
const (
	maxPrototypeFile = 4 << 20 // bytes
	maxPrototypes    = 1 << 16
	maxTypeDepth     = 32
)

// readPrototypes reads prototypes from a file: declarations of C, or the simple part of the language of
// ltrace.conf(5), or both. Those of names that are known already are replaced. Headers have more than this reads:
// what is not understood is passed over, and warning says how much and why, unless nothing is
// left then. A file may be root's to read but somebody else's to write: package foreign judges
// it.
func readPrototypes(path string, into map[string]function) (warning string, err error) {
	f, err := foreign.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxPrototypeFile+1))
	if err != nil {
		return "", err
	}
	if len(text) > maxPrototypeFile {
		return "", fmt.Errorf("%s has more than %d bytes", path, maxPrototypeFile)
	}
	found, passed, err := parsePrototypes(string(text))
	if err != nil && len(found) == 0 {
		return "", fmt.Errorf("%s:%w\nHINT: prototypes are written as in C, int open(const char *path, int flags, "+
			"...); or as in ltrace.conf, int open(string, hex(int));", path, err)
	}
	maps.Copy(into, found)
	if err != nil {
		warning = fmt.Sprintf("%s:%v; so many declarations are passed over: %d", path, err, passed)
	}
	return warning, nil
}

// parsePrototypes reads the prototypes of a text. The error is about the first of those that it passes
// over, and begins with the number of its line. It goes on behind the next semicolon, as
// compilers do.
func parsePrototypes(text string) (found map[string]function, passed int, first error) {
	p := protoParser{words: wordsOf(withoutComments(text)), named: map[string]string{}, found: map[string]function{}}
	for p.at < len(p.words) && len(p.found) < maxPrototypes {
		begun := p.at
		err := p.declaration()
		if err == nil {
			continue
		}
		if passed++; first == nil {
			first = fmt.Errorf("%d: %w", p.words[min(p.at, len(p.words)-1)].line, err)
		}
		// A declaration of which no word was taken must not stop the loop.
		p.at = max(p.at, begun+1)
		for p.word() != ";" && p.word() != "" {
			p.at++
		}
	}
	return p.found, passed, first
}

// withoutComments has blanks in place of comments of C, of lines that begin with ";", which are those of
// ltrace.conf, and of lines for the preprocessor. The lines stay, so that errors name the right
// ones.
func withoutComments(text string) string {
	var b strings.Builder
	block, goesOn := false, false
	for line := range strings.Lines(text) {
		start := strings.TrimSpace(line)
		// A directive goes on in the next line behind a backslash.
		if special := !block && (goesOn || strings.HasPrefix(start, ";") || strings.HasPrefix(start, "#")); special {
			goesOn = (goesOn || start[0] == '#') && strings.HasSuffix(start, `\`)
			b.WriteByte('\n')
			continue
		}
		for line = strings.TrimSuffix(line, "\n"); line != ""; {
			mark := "*/"
			if !block {
				mark = "/*"
			}
			before, after, found := strings.Cut(line, mark)
			if comment := strings.Index(before, "//"); !block && comment >= 0 {
				before, found = before[:comment], false
			}
			if !block {
				b.WriteString(before)
			}
			if b.WriteByte(' '); !found {
				break
			}
			block, line = !block, after
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// A protoWord is a name, a number, a text in quotes, "..." or one other character.
type protoWord struct {
	text string
	line int
}

// wordsOf cuts a text into words. It refuses nothing: what they mean is the parser's to say.
func wordsOf(text string) (out []protoWord) {
	line := 1
	for text != "" {
		n := 0
		for n < len(text) && isWordByte(text[n]) {
			n++
		}
		switch c := text[0]; {
		case n > 0:
		case c == '\n':
			line++
			text = text[1:]
			continue
		case c <= ' ':
			text = text[1:]
			continue
		case strings.HasPrefix(text, "..."):
			n = 3
		case c == '"':
			if n = strings.IndexByte(text[1:], '"') + 2; n < 2 {
				n = len(text)
			}
		default:
			n = 1
		}
		out = append(out, protoWord{text[:n], line})
		line += strings.Count(text[:n], "\n")
		text = text[n:]
	}
	return out
}

// isWordByte takes bytes above 127 for letters: they are those of a name in UTF-8, which is not
// to be cut.
func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// isName reports whether a word is a name.
func isName(word string) bool {
	return word != "" && isWordByte(word[0]) && (word[0] < '0' || word[0] > '9')
}

// A protoParser reads declarations. It looks at words only, never at lines, except where
// ltrace.conf leaves a semicolon out.
type protoParser struct {
	words []protoWord
	at    int
	named map[string]string // kinds of types that typedef names
	found map[string]function
}

// word is the one that is next, "" at the end.
func (p *protoParser) word() string {
	if p.at < len(p.words) {
		return p.words[p.at].text
	}
	return ""
}

// accept goes over a word if it is next.
func (p *protoParser) accept(word string) bool {
	if p.word() != word {
		return false
	}
	p.at++
	return true
}

func (p *protoParser) expect(word string) error {
	switch {
	case p.accept(word):
		return nil
	case p.word() == "":
		return fmt.Errorf("'%s' is expected at the end", word)
	}
	return fmt.Errorf("'%s' is expected before '%s'", word, p.word())
}

// past goes over everything up to the end of what an opening bracket has begun.
func (p *protoParser) past(open, end string) error {
	for depth := 1; depth > 0; p.at++ {
		switch p.word() {
		case open:
			depth++
		case end:
			depth--
		case "":
			return fmt.Errorf("'%s' is not closed", open)
		}
	}
	return nil
}

// parentheses goes over parentheses with anything inside, if they are next.
func (p *protoParser) parentheses() error {
	if p.accept("(") {
		return p.past("(", ")")
	}
	return nil
}

// qualifiers are words of C that change nothing of how a value is shown; an attribute has more behind it.
const qualifiers words = "" +
	" const volatile restrict __restrict __restrict__ extern static inline __inline __extension__ register " +
	"_Noreturn __const __attribute__ __asm__ _Nullable "

// qualifier goes over one; constant says that it was const. Attributes and alike have
// parentheses behind them, with anything inside.
func (p *protoParser) qualifier() (constant, ok bool, err error) {
	word := p.word()
	if !qualifiers.has(word) {
		return false, false, nil
	}
	p.at++
	err = p.parentheses()
	return word == "const" || word == "__const", true, err
}

// declaration reads a prototype or a typedef. It passes over variables, structs, and the braces that
// C++ has around declarations. Headers are read as they are on the disk, without the preprocessor: macros in front
// of a type or behind parameters are guessed by how they are written.
func (p *protoParser) declaration() error {
	if p.accept(";") || p.accept("}") {
		return nil
	}
	if p.word() == "extern" && p.at+2 < len(p.words) && p.words[p.at+2].text == "{" { // extern "C" {
		p.at += 3
		return nil
	}
	for isMacro(p.word()) && isName(p.behind()) && (p.nth(2) == "*" || isName(p.nth(2))) {
		p.at++ // __BEGIN_DECLS, ZEXTERN
	}
	if p.accept("typedef") {
		return p.typedef()
	}
	result, err := p.typeOf(0)
	if err != nil {
		return err
	}
	if p.accept(";") { // struct s { … };
		return nil
	}
	name := p.word()
	if !isName(name) {
		return p.expect("the name of a function")
	}
	for isName(p.behind()) { // a macro stood in front of the name: ZEXPORT
		if p.at++; p.behind() == "(" && p.nth(2) == "(" { // or behind it: OF((int, long))
			break
		}
		name = p.word()
	}
	p.at++
	doubled := p.word() == "(" && p.behind() == "("
	if doubled {
		p.at++
	}
	if p.accept("[") || p.word() == ";" || p.word() == "=" { // a variable
		for p.word() != ";" && p.word() != "" {
			p.at++
		}
		return p.expect(";")
	}
	if err := p.expect("("); err != nil {
		return err
	}
	f := function{name: name, result: result.words()}
	// A length is known of an argument when the call begins, but of no result.
	if result.kind == "n" {
		f.result = "s"
	}
	if f.args, err = p.parameters(); err != nil {
		return err
	}
	if doubled {
		if err := p.expect(")"); err != nil {
			return err
		}
	}
	for p.isAttribute() {
		p.at++
		if err := p.parentheses(); err != nil {
			return err
		}
	}
	if p.accept("{") { // a function of C with its body
		err = p.past("{", "}")
	} else if p.word() != "" && (p.at == 0 || p.words[p.at].line == p.words[p.at-1].line) {
		err = p.expect(";") // ltrace.conf may leave it away at the end of a line
	}
	p.found[name] = f
	return err
}

// typedef reads what is behind the word: ltrace.conf has NAME = TYPE, C the other order. Of
// types that are defined only how they are shown is kept, in the words of functions.txt.
func (p *protoParser) typedef() error {
	if p.at+1 < len(p.words) && p.words[p.at+1].text == "=" {
		name := p.word()
		p.at += 2
		t, err := p.typeOf(0)
		if err != nil {
			return err
		}
		p.named[name] = t.words()
		p.accept(";")
		return nil
	}
	t, err := p.typeOf(0)
	if err != nil {
		return err
	}
	if p.accept("(") { // of a function's address
		p.accept("*")
		t.kind = "p"
	}
	if name := p.word(); isName(name) {
		p.named[name] = t.words()
	}
	for p.word() != ";" {
		if p.word() == "" {
			return p.expect(";")
		}
		p.at++
	}
	return p.expect(";")
}

// parameters reads what stands in parentheses, the first of which has been read. A struct that
// is passed as such may lie in two registers, in one, or on the stack: reading ends there.
func (p *protoParser) parameters() (args []arg, err error) {
	// The text that may be a format is the last one, as all of C's functions have it.
	lastText := -1
	for i := 0; !p.accept(")"); i++ {
		if i > 0 {
			if err := p.expect(","); err != nil {
				return nil, err
			}
		}
		if p.accept("...") { // a text in front of more is a format, as of printf()
			if lastText >= 0 {
				args[lastText].kind = "F"
				args = args[:lastText+1]
			}
			return args, p.expect(")")
		}
		t, err := p.parameter()
		switch {
		case err != nil:
			return nil, err
		case t.kind == "v" && i == 0 && p.word() == ")": // (void)
			continue
		case t.composite || t.kind == "v": // which registers it and what follows are in is not said
			for p.word() != ")" && p.word() != "" {
				if p.accept("(") {
					if err := p.past("(", ")"); err != nil {
						return nil, err
					}
					continue
				}
				p.at++
			}
			return args, p.expect(")")
		}
		if args = append(args, arg{kind: t.kind, param: t.param}); t.kind == "s" {
			lastText = len(args) - 1
		}
	}
	return args, nil
}

// parameter reads a type, and the name that may be behind it. An array as a parameter is a
// pointer in C.
func (p *protoParser) parameter() (t shownType, err error) {
	out := p.accept("+") // ltrace.conf: it is shown as the call leaves it
	if t, err = p.typeOf(0); err != nil {
		return t, err
	}
	if p.accept("(") { // int (*compare)(const void *, const void *)
		t = shownType{kind: "p"}
		if err := p.past("(", ")"); err != nil {
			return t, err
		}
		if err := p.parentheses(); err != nil {
			return t, err
		}
	}
	if isName(p.word()) {
		p.at++
	}
	for p.accept("[") {
		t = shownType{kind: "p"}
		if err := p.past("[", "]"); err != nil {
			return t, err
		}
	}
	if out && (t.kind == "s" || t.kind == "n") {
		t = shownType{kind: "S"}
	}
	return t, nil
}

// isAttribute reports whether a word behind parameters is one of C's attributes or a macro that stands for
// one: on another line only with the underscores of the C library's.
func (p *protoParser) isAttribute() bool {
	word := p.word()
	return isName(word) && (qualifiers.has(word) || strings.HasPrefix(word, "__") ||
		isMacro(word) && p.words[p.at].line == p.words[p.at-1].line)
}

// isMacro reports whether a name is written as those of macros are.
func isMacro(word string) bool {
	return isName(word) && (strings.ToUpper(word) == word || strings.HasPrefix(word, "__"))
}
