package user

import (
	"strings"
	"unicode/utf8"

	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/probe"
)

// Names of functions as attach points have them.

// symbolMatcher tells the symbols a point's pattern covers: by the name in
// the table or, in a language's slot, by the demangled name.
func symbolMatcher(p *probe.Point) func(name []byte) bool {
	fn := p.Pattern.Fn
	if p.Provider == "" {
		return func(name []byte) bool {
			// GCC splits functions: a part begins in the middle of one, where its arguments are
			// no more.
			return probe.PartMatches(fn, name) && !strings.Contains(string(name), ".part.")
		}
	}
	// Demangling takes microseconds, and large programs have a million names.
	word := mangledWord(fn)
	return func(name []byte) bool {
		s := string(name)
		return probe.PartMatches(fn, name) || exe.IsMangled(s) && strings.Contains(s, word) && matchesSource(fn, s)
	}
}

// matchesSource compares a pattern with what a mangled name stands for: the name alone, which may be
// that of a template, an operator or a lambda, the name behind the type of its result, and if the
// pattern can have parameters all of it. Tags of the compiler (name[abi:cxx11]) need not be written.
func matchesSource(fn probe.Part, symbol string) bool {
	matches := func(name string) bool {
		return fn.Matches(name) || strings.Contains(name, "[abi:") && fn.Matches(withoutABI(name))
	}
	name := exe.DemangleName(symbol)
	if matches(name) {
		return true
	}
	all := exe.Demangle(symbol)
	if strings.Contains(fn.Text, "(") && matches(all) {
		return true
	}
	i := strings.Index(all, name)
	return i > 0 && matches(all[:i+len(name)])
}

// withoutABI cuts the tags off a name that compilers put there and nobody
// writes: name[abi:cxx11](int).
func withoutABI(name string) string {
	for {
		before, rest, ok := strings.Cut(name, "[abi:")
		_, after, closed := strings.Cut(rest, "]")
		if !ok || !closed {
			return name
		}
		name = before + after
	}
}

// unmangled are words that names of source have and mangled ones abbreviate, or say in another way.
const unmangled = "std allocator basic_string char_traits basic_istream basic_ostream basic_iostream " +
	"unsigned long short int signed char bool float double void wchar_t char8_t char16_t char32_t __int128 " +
	"__float128 _Float16 decltype nullptr_t nullptr auto const volatile restrict true false noexcept requires " +
	"operator new delete co_await sizeof alignof typeid throw this _cast cast anonymous namespace lambda unnamed " +
	"type parm string literal decimal128 half _Complex _Imaginary complex imaginary _BitInt " +
	"vtable VTT typeinfo name for thunk virtual covariant return guard variable reference temporary construction " +
	"clone initialization TLS init function wrapper template parameter object default arg block invocation in to " +
	"closure abi impl shim dyn fn unsafe extern mut str u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 as"

// mangledWord is a word of a pattern that every mangled name of a matching
// function contains as it is, so that not all names need be demangled; "" if
// there is none that is certain.
func mangledWord(pattern probe.Part) string {
	text, best := pattern.Text, ""
	if !pattern.Literal {
		text, _, _ = strings.Cut(text, "[") // characters of which a name has one
	}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return r < utf8.RuneSelf && r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		// Digits may be of a number; what is not ASCII Rust writes in another way.
		if len(word) > len(best) && word[0] > '9' && !strings.ContainsFunc(word, notASCII) &&
			!strings.Contains(unmangled, word) {
			best = word
		}
	}
	return best
}

func notASCII(r rune) bool { return r >= utf8.RuneSelf }
