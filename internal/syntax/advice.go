package syntax

import "strings"

// Advice for what people write who come from other languages, or whose shell
// has changed the script on its way. Each function is asked when something is
// wrong anyway and returns "" where it knows nothing.

// otherWords are words of other languages at the start of a statement.
var otherWords = map[string]string{
	"var":     "a variable needs no declaration: $name = …",
	"my":      "a variable needs no declaration: $name = …",
	"local":   "a variable needs no declaration: $name = …",
	"auto":    "a variable needs no declaration: $name = …",
	"const":   "a variable needs no declaration: $name = …",
	"static":  "a variable lives for one event; what is to last is a map: @name = …",
	"global":  "what is to be known everywhere is a map: @name = …",
	"switch":  "there is no switch; write if (…) { … } else if (…) { … }",
	"case":    "there is no switch; write if (…) { … } else if (…) { … }",
	"unless":  "write if (!(…)) { … }",
	"elif":    "write else if (…) { … }",
	"elsif":   "write else if (…) { … }",
	"elseif":  "write else if (…) { … }",
	"foreach": "write for ($kv : @map) { … }",
	"do":      "there is no do loop; write for ($i : 0..10) { … }",
	"until":   "there is no until; write for ($i : 0..10) { … }",
	"loop":    "write for ($i : 0..10) { … }",
	"repeat":  "write for ($i : 0..10) { … }",
	"goto":    "there is no goto",
}

// otherOperators are words that stand for operators elsewhere.
var otherOperators = map[string]string{
	"and": "the logical and is written &&",
	"or":  "the logical or is written ||",
	"not": "the logical not is written !",
	"eq":  "equality is written ==",
	"ne":  "inequality is written !=",
	"in":  "whether a map has a key is asked by has_key(@map, key)",
	"is":  "equality is written ==",
}

const shellAdvice = "was there a $name or a quoted string? The shell takes them out of a script that is not in " +
	"single quotes"

// shellTook reports whether a shell may have taken the variables out of the
// script: it came by the command line and has none.
// A file cannot have gone through a shell.
func (p *parser) shellTook() bool {
	if p.file.Name != "stdin" {
		return false
	}
	text := p.scan.text
	for i := strings.IndexByte(text, '$'); i >= 0; i = strings.IndexByte(text, '$') {
		if text = text[i+1:]; text != "" && isNamePart(text[0]) {
			return false
		}
	}
	return true
}

// afterStatement is advice when a statement that began with x is not ended by
// what follows.
// The order matters: what is certain comes first, a missing semicolon last.
func (p *parser) afterStatement(x Expr) string {
	l := p.cur()
	if l.Token == Assign && p.peek() == Tilde || l.Token == Tilde {
		return noPatterns
	}
	if l.Token == Assign {
		return "an assignment is a statement of its own: $a = …; $b = …;"
	}
	if l.Token == Name {
		if hint := otherOperators[l.Str]; hint != "" {
			return hint
		}
	}
	switch x := x.(type) {
	case *Ident:
		if hint := otherWords[x.Name]; hint != "" {
			return hint
		}
		switch {
		case IsTypeName(x.Name) || isTag(x.Name):
			return "a variable starts with '$' and needs no type: $name = …"
		case l.Token == Not:
			return "a macro is called without '!'"
		case startsExpr(l.Token):
			return "a call needs parentheses: " + x.Name + "(…)"
		}
	case *Call:
		if hint := otherWords[x.Func.Name]; hint != "" {
			return hint
		}
	case *Map:
		if l.Token == LBrace || l.Token == LParen {
			return "a key stands in square brackets: @" + x.Name + "[…]"
		}
	}
	if l.Token == Colon && p.peek() == Assign {
		return "an assignment is written with '='"
	}
	return p.lineEnds(l.Start)
}

// lineEnds is advice about a ';' that is missing at the end of an earlier line.
func (p *parser) lineEnds(at int) string {
	// Only where a line ends between the two: on one line, something else is wrong.
	if strings.Contains(p.scan.text[p.end:at], "\n") {
		return "end the line before with ';'"
	}
	return ""
}

// noExpression is advice when there is no expression where one must be.
// prev is the token in front, which says more than what is there.
func (p *parser) noExpression() string {
	t := p.at()
	switch {
	case p.prev == Eq && t == Assign:
		return "equality is written =="
	case p.prev == Tilde && t == Div:
		return noPatterns
	case p.prev == Lt && t == Gt:
		return "inequality is written !="
	case t == LBracket:
		return "there are no lists; a map needs no beginning: @name[key] = …"
	case t == Mod && p.prev == LParen:
		return "a format stands in double quotes"
	case !p.shellTook():
	case isAssign(t) || t == Dot || t == Arrow:
		if p.prev == LBrace || p.prev == Semicolon || p.prev == RBrace {
			return shellAdvice
		}
	case precedence(p.prev) > 0 || p.prev == Assign:
		return shellAdvice
	}
	return ""
}

// notAssignable is advice on a name that cannot be assigned to.
// Assignments to fields and elements are valid in C, D and awk.
func notAssignable(x Expr) string {
	switch x := x.(type) {
	case *Ident:
		if !IsParserBuiltin(x.Name) {
			return "a variable starts with '$' and a map with '@': $" + x.Name + ", @" + x.Name
		}
	case *Index:
		switch y := x.X.(type) {
		case *Var:
			return "only maps have elements that can be set: @" + y.Name + "[…] = …"
		case *MapIndex:
			return "several keys stand in one pair of brackets: @" + y.Map.Name + "[a, b] = …"
		}
	case *Field:
		id, ok := x.X.(*Ident)
		switch {
		case ok && id.Name == "this":
			return "a variable of the probe is $" + x.Name.Name
		case ok && id.Name == "self":
			return "what a thread is to keep goes to a map: @" + x.Name.Name + "[tid] = …"
		}
		if _, ok := x.X.(*Map); ok {
			return "a map has elements, not fields: @name[\"" + x.Name.Name + "\"] = …"
		}
	}
	return ""
}

// afterAttach is advice when neither a predicate nor a body follows an attach
// point.
// Functions of other languages come here, too: their first word reads as a provider.
func (p *parser) afterAttach(probe *Probe) string {
	last := probe.Attach[len(probe.Attach)-1]
	l := p.cur()
	switch text := last.Text; {
	case len(text) > 2 && strings.HasPrefix("function", text) || text == "def" || text == "sub":
		return "a function is defined by fn name($x: int64): int64 { … }"
	case probe.Predicate != nil:
	case Glued(text) != "":
		return Glued(text)
	case strings.HasSuffix(text, ":") || l.Token == Colon ||
		!strings.Contains(text, ":") && l.Token == Name && l.Str != "if" && p.peek() != LParen:
		return "there are no spaces in an attach point, as in kprobe:vfs_read"
	case l.Token == Name && l.Str == "if", l.Token == LParen:
		return "a condition stands between slashes: " + text + " /pid == 1/ { … }"
	case l.Token == Name && (p.peek() == Colon || p.peek() == LBrace || p.peek() == Comma):
		return "separate attach points by ','"
	}
	if l.Token == Name {
		return "what a probe does stands in braces: { … }"
	}
	return ""
}

// Glued is advice on a predicate right behind an attach point, whose text it is a
// part of: in front of it a ':' has been seen, and paths have slashes. It is "" if
// there is none.
func Glued(text string) string {
	last := strings.LastIndexByte(text, ':') + 1
	slash := strings.IndexByte(text[last:], '/')
	if last == 0 || slash <= 0 || text[last] == '.' {
		return ""
	}
	return "a space stands in front of a predicate: " + text[:last+slash] + " /…/ { … }"
}

// lateLine is advice on C behind a probe that may be meant as a comment.
func lateLine(text string) string {
	line, ok := strings.CutPrefix(text, "#")
	line = strings.TrimLeft(line, " \t")
	if !ok || strings.HasPrefix(line, "define") || strings.HasPrefix(line, "include") {
		return ""
	}
	return "if it is meant as a comment: that starts with //"
}

// webEntity says for what a text that begins with an entity of HTML stands, "" if with none.
func webEntity(text string) string {
	for _, e := range []struct{ written, meant string }{{"&gt;", ">"}, {"&lt;", "<"}, {"&amp;", "&"}, {"&quot;", `"`}} {
		if strings.HasPrefix(text, e.written) {
			return e.written + " stands for " + e.meant
		}
	}
	return ""
}

// noAttach is advice when an item starts like nothing that is one.
// What stands in front of it was read without a fault, as far as braces go.
func noAttach(c byte) string {
	switch c {
	case '}':
		return "there is one '}' more than '{'"
	case ';':
		return "no ';' is needed after the '}' of a probe"
	case '/':
		return "a predicate follows the attach point: kprobe:vfs_read /pid == 1/ { … }"
	case '{':
		return "what a probe does follows the attach point: begin { … }"
	}
	return ""
}

// startsExpr reports whether a token can start an expression other than a
// grouping.
// A parenthesis is left out: it would make a call of the name in front.
func startsExpr(t Token) bool {
	switch t {
	case Name, Integer, String, VarName, MapName, ParamNum:
		return true
	}
	return false
}

// isAssign reports whether a token assigns, by itself or with an operator.
func isAssign(t Token) bool { return t == Assign || t.Binary() != Invalid }

const noPatterns = "there are no regular expressions; whether a text has a part is asked by strcontains(text, part)"

// afterCondition is advice when a condition does not end where it should.
func (p *parser) afterCondition() string {
	l := p.cur()
	switch {
	case l.Token == Assign && p.peek() == Tilde:
		return noPatterns
	case l.Token == Assign:
		return "equality is written =="
	case l.Token == Name:
		return otherOperators[l.Str]
	}
	return ""
}

// afterPredicate is the same for a predicate.
func (p *parser) afterPredicate(probe *Probe) string {
	if hint := p.afterCondition(); hint != "" || p.at() != LBrace {
		return hint
	}
	last := probe.Attach[len(probe.Attach)-1]
	if next := p.scan.text[last.At.End:]; !strings.Contains(last.Text, ":") &&
		strings.HasPrefix(next, "/") && isName(next[1:2]) {
		return "a predicate ends with '/'; the parts of an attach point are separated by ':', as in " +
			"tracepoint:sched:sched_switch"
	}
	return "a predicate ends with '/'"
}
