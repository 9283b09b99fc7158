package user

import (
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/probe"
)

// All ways in which a function can be written that the demangler prints, and some of those it cannot.
func TestSymbolMatcher(t *testing.T) {
	for _, c := range []struct {
		pattern, symbol string
		want            bool
	}{
		{"shop::add", "_ZN4shop3addEi", true},
		{"shop::add(int)", "_ZN4shop3addEi", true},
		{"shop::add(long)", "_ZN4shop3addEi", false},
		{"add", "_ZN4shop3addEi", false},
		{"_ZN4shop3addEi", "_ZN4shop3addEi", true},
		{"shop::*(int)", "_ZN4shop3addEi", true},
		// The type of the result is a part of the name of a template's instance.
		{"tmpl<int, 3>", "_Z4tmplIiLi3EET_S0_", true},
		{"int tmpl<int, 3>(int)", "_Z4tmplIiLi3EET_S0_", true},
		{"int tmpl<int, 3>", "_Z4tmplIiLi3EET_S0_", true},
		{"int*", "_Z4tmplIiLi3EET_S0_", true},
		{"long tmpl<int, 3>", "_Z4tmplIiLi3EET_S0_", false},
		{"*<int, 3>", "_Z4tmplIiLi3EET_S0_", true},
		{"unsigned long twice<unsigned long>(unsigned long)", "_Z5twiceImET_S0_", true},
		// Parentheses that are no parameter list.
		{"Cart::operator()", "_ZN4CartclEii", true},
		{"Cart::operator()(int, int)", "_ZN4CartclEii", true},
		{"Cart::operator()(int)", "_ZN4CartclEii", false},
		{"(anonymous namespace)::hidden", "_ZN12_GLOBAL__N_16hiddenEi", true},
		{"*anonymous*", "_ZN12_GLOBAL__N_16hiddenEi", true},
		{"main::{lambda(int)#1}::operator()", "_ZZ4mainENKUliE_clEi", true},
		{"*lambda*", "_ZZ4mainENKUliE_clEi", true},
		// Words that are not in mangled names.
		{"non-virtual thunk to shop::Cart::v2()", "_ZThn16_N4shop4Cart2v2Ev", true},
		{"non-virtual thunk to *", "_ZThn16_N4shop4Cart2v2Ev", true},
		{"use(std::allocator<char>*)", "_Z3usePSaIcE", true},
		{"use(*allocator*", "_Z3usePSaIcE", true},
		{"*::operator new", "_ZN4CartnwEm", true},
		{"big", "_Z3bigB5cxx11i", true},
		{"big(int)", "_Z3bigB5cxx11i", true},
		{"big[abi:cxx11]", "_Z3bigB5cxx11i", true},
		{"f<-3>", "_Z1fILin3EEvv", true},
		{"*grüße", "_RNvCs1234_4mainu9gre_5oa2h", false},
		// Outside of quotes brackets are a pattern.
		{"shop::[abc]dd", "_ZN4shop3addEi", false},
		{`unquoted shop::[abc]dd`, "_ZN4shop3addEi", true},
		{`unquoted shop::[nothing_at_all]dd`, "_ZN4shop3addEi", true},
	} {
		text, unquoted := strings.CutPrefix(c.pattern, "unquoted ")
		p := &probe.Point{Provider: "cpp", Pattern: &probe.Pattern{Fn: probe.Part{Text: text, Literal: !unquoted}}}
		if got := symbolMatcher(p)([]byte(c.symbol)); got != c.want {
			t.Errorf("%q matches %s: %t, want %t", c.pattern, c.symbol, got, c.want)
		}
	}
}
