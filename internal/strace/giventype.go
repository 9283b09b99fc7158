package strace

import (
	"fmt"
	"strconv"
	"strings"
)

// A shownType is how values of a type are shown, in the words of functions.txt.
type shownType struct {
	kind, param string
	composite   bool // a struct that is passed as such
}

// words are the type as functions.txt has it.
func (t shownType) words() string {
	if t.param == "" {
		return t.kind
	}
	return t.kind + ":" + t.param
}

// plainTypes are the types of ltrace.conf, and names of C that are everywhere. They are those of
// 64-bit Linux, where a long has 8 bytes.
const plainTypes words = "" +
	" void=v int=d uint=u short=d ushort=u char=c uchar=u long=ld ulong=lu octal=o addr=p file=p string=s " +
	"format=F float=D double=D bool=d _Bool=d size_t=lu ssize_t=ld off_t=ld off64_t=ld time_t=ld " +
	"ptrdiff_t=ld intptr_t=ld uintptr_t=lu int8_t=d int16_t=d int32_t=d int64_t=ld uint8_t=u uint16_t=u " +
	"uint32_t=u uint64_t=lu mode_t=o pid_t=d uid_t=u gid_t=u id_t=u socklen_t=u in_addr_t=u in_port_t=u " +
	"clockid_t=d wchar_t=d wint_t=d clock_t=ld suseconds_t=ld useconds_t=u dev_t=lu ino_t=lu va_list=p " +
	"__builtin_va_list=p "

// wrappers are the types of ltrace.conf that say how another type is shown.
const wrappers words = "" +
	" hex oct octal bool hide bitvec enum array struct string "

// typeOf reads a type with its asterisks. The depth bounds the recursion, since a file may be
// made to exhaust the stack.
func (p *protoParser) typeOf(depth int) (t shownType, err error) {
	if depth > maxTypeDepth {
		return t, fmt.Errorf("types are nested deeper than %d", maxTypeDepth)
	}
	constant := false
	skip := func() error {
		for {
			c, ok, err := p.qualifier()
			if constant = constant || c; !ok || err != nil {
				return err
			}
		}
	}
	if err := skip(); err != nil {
		return t, err
	}
	word := p.word()
	if !isName(word) {
		return t, p.expect("a type")
	}
	text := false
	switch next := p.behind(); {
	case next == "(" && wrappers.has(word) || word == "string" && next == "[":
		p.at++
		if t, err = p.wrapped(word, depth); err != nil {
			return t, err
		}
	case word == "struct" || word == "union" || word == "enum" || word == "class":
		p.at++
		if isName(p.word()) {
			p.at++
		}
		if p.accept("{") {
			if err := p.past("{", "}"); err != nil {
				return t, err
			}
		}
		if t = (shownType{kind: "p", composite: true}); word == "enum" {
			t = shownType{kind: "d"}
		}
	default:
		t = p.number()
		text = word == "char" && t.kind == "c"
	}
	if err := skip(); err != nil {
		return t, err
	}
	for stars := 0; p.accept("*"); stars++ {
		// A text that a function is not going to change is there when it begins.
		if t = (shownType{kind: "p"}); text && constant && stars == 0 {
			t.kind = "s"
		}
		if err := skip(); err != nil {
			return t, err
		}
	}
	return t, nil
}

// behind is the word behind the one that is next.
func (p *protoParser) behind() string { return p.nth(1) }

// nth is a word further on, "" behind the end.
func (p *protoParser) nth(n int) string {
	if p.at+n < len(p.words) {
		return p.words[p.at+n].text
	}
	return ""
}

// number reads a type of C that is one or several words, or a name.
func (p *protoParser) number() shownType {
	for {
		if t, ok := p.basic(); ok {
			return t
		}
		name := p.word()
		p.at++
		if words, ok := p.named[name]; ok {
			kind, param, _ := strings.Cut(words, ":")
			return shownType{kind: kind, param: param}
		}
		if kind := plainTypes.of(name); kind != "" {
			return shownType{kind: kind}
		}
		if next := p.word(); !isBasic(next) && plainTypes.of(next) == "" && p.named[next] == "" {
			return shownType{kind: "p"} // a number, or else nobody knows
		}
		// A macro stood in front of the type: ZEXTERN.
	}
}

// basic reads a type that is made of C's own words; false: none is next. They may come in any order:
// long unsigned int is unsigned long.
func (p *protoParser) basic() (t shownType, ok bool) {
	var unsigned, signed, long, char, float bool
	first := p.at
	for ; isBasic(p.word()); p.at++ {
		switch p.word() {
		case "unsigned":
			unsigned = true
		case "signed", "__signed__":
			signed = true
		case "long":
			long = true
		case "char":
			char = true
		case "double", "float":
			float = true
		}
	}
	t.kind = "d"
	switch {
	case float:
		t.kind = "D"
	case char && !unsigned && !signed:
		t.kind = "c"
	case long && unsigned:
		t.kind = "lu"
	case long:
		t.kind = "ld"
	case unsigned:
		t.kind = "u"
	}
	return t, p.at > first
}

// isBasic reports whether a word is one that types of C are made of.
func isBasic(word string) bool {
	switch word {
	case "unsigned", "signed", "__signed__", "long", "char", "double", "float", "int", "short":
		return true
	}
	return false
}

// wrapped reads the rest of a type of ltrace.conf that has more behind its name.
func (p *protoParser) wrapped(word string, depth int) (t shownType, err error) {
	if word == "string" {
		return p.sized()
	}
	p.at++ // the parenthesis
	switch word {
	case "enum":
		t.kind = "E"
		for p.word() != ")" && p.word() != "" {
			if t.param += p.word(); p.word() == "," {
				t.param += " "
			}
			p.at++
		}
		return t, p.expect(")")
	case "array", "struct":
		// Members are shown by ltrace, and here where they lie.
		return shownType{kind: "p", composite: word == "struct"}, p.past("(", ")")
	}
	if t, err = p.typeOf(depth + 1); err != nil {
		return t, err
	}
	wide := t.kind == "ld" || t.kind == "lu" || t.kind == "p"
	switch {
	case word == "hex" && wide:
		t.kind = "p"
	case word == "bitvec":
		if t.kind = "B"; !wide {
			t.kind = "w"
		}
	case word == "hex":
		t.kind = "x"
	case word == "oct" || word == "octal":
		t.kind = "o"
	}
	return t, p.expect(")")
}

// sized reads the length of a string: [argN], (argN), or a number. Arguments count from 1 in
// ltrace.conf and from 0 in functions.txt.
func (p *protoParser) sized() (t shownType, err error) {
	end := "]"
	if p.accept("(") {
		end = ")"
	} else if err := p.expect("["); err != nil {
		return t, err
	}
	t = shownType{kind: "s"}
	word := p.word()
	p.at++
	n, err := strconv.Atoi(strings.TrimPrefix(word, "arg"))
	switch {
	case word == "retval":
		t = shownType{kind: "r"}
	case err == nil && strings.HasPrefix(word, "arg") && n >= 1 && n <= 6:
		t = shownType{kind: "n", param: strconv.Itoa(n - 1)}
	}
	for p.word() != end && p.word() != "" { // an expression; the text ends where it ends then
		t = shownType{kind: "s"}
		p.at++
	}
	return t, p.expect(end)
}
