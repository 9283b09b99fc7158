package strace

import (
	"slices"
	"strings"
	"testing"
)

// TestChosen chooses functions as the expressions of ltrace do.
func TestChosen(t *testing.T) {
	names := []string{"free", "malloc", "memcpy", "puts", "strcmp", "strcpy", "inflate"}
	library := func(name string) []string {
		if name == "inflate" {
			return []string{"libz.so.1", "/lib/x-y/libz.so.1"}
		}
		return []string{"libc.so.6", "/lib/x-y/libc.so.6"}
	}
	for text, want := range map[string]string{
		"malloc+free":                "free malloc",
		"m*":                         "malloc memcpy",
		"m*-malloc":                  "memcpy",
		"-str*":                      "free malloc memcpy puts inflate",
		"-/^(m|s)/":                  "free puts inflate",
		"/^str/+puts":                "puts strcmp strcpy",
		"@libz*":                     "inflate",
		"-@libz*":                    "free malloc memcpy puts strcmp strcpy",
		"m*@libc.so.6+inflate@libc*": "malloc memcpy",
		"-@libc*+puts":               "puts inflate",
		"@/lib/x-y/libz.so.1+puts":   "puts inflate",
		"puts@/lib/x-y/libz.so.1":    "",
		"@/^libz/":                   "inflate",
		"":                           "",
		"nosuch":                     "",
		"?uts":                       "puts",
	} {
		terms, err := filter(text)
		if err != nil {
			t.Fatal(text, err)
		}
		var got []string
		for _, name := range names {
			if chosen(terms, name, func() []string { return library(name) }) {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{"/(/", "/x", "[", "a+[", "x@[", "x@/(/"} {
		if terms, err := filter(text); err == nil {
			t.Errorf("%s: %d terms", text, len(terms))
		}
	}
	terms, _ := filter("m*+puts+gone*")
	if got := globs(terms, names); !slices.Equal(got, []string{"m*", "puts"}) {
		t.Error(got)
	}
	for _, text := range []string{"m*+malloc", "-puts", "/puts/", "puts@libc*", "p[u]ts"} {
		terms, _ := filter(text)
		if got := globs(terms, names); got != nil {
			t.Error(text, got)
		}
	}
}

// TestFunctions takes the table apart: each name is there once, and each word is one that is known.
func TestFunctions(t *testing.T) {
	seen := map[string]bool{}
	known := strings.Fields("d u ld lu x p o c g s l S r F D v open m f:open f:access e:locale")
	for line := range strings.Lines(functionsText()) {
		words := strings.Fields(line)
		at := slices.IndexFunc(words, func(w string) bool { return w[0] == '=' })
		if at < 0 || at+1 == len(words) {
			t.Fatal("no result, or no name: ", line)
		}
		for i, w := range words[:at+1] {
			w = strings.TrimPrefix(w, "=")
			bytes := (w[0] == 'b' || w[0] == 'n') && len(w) > 1 && w[1] >= '0' && int(w[1]-'0') < min(at, 4) &&
				strings.Trim(w[2:], "*") == ""
			if !slices.Contains(known, w) && !bytes {
				t.Errorf("word %d of %q is not known", i, line)
			}
		}
		for _, name := range words[at+1:] {
			if seen[name] {
				t.Errorf("%s is there twice", name)
			}
			seen[name] = true
		}
	}
	for name, plan := range map[string]uint64{"free": 0, "puts": functionString,
		"getenv": functionString | resultString,
		"memcpy": (functionData | 2<<4) << 8, "read": functionResult << 8, "fwrite": functionItems | 1<<4,
		"snprintf": functionMade | functionFormat<<16 | functionString<<24 | functionString<<32 | functionString<<40 |
			stackToo, "pow": 0, "no_such_function": 0} {
		if f := findFunction(name); f.plan() != plan {
			t.Errorf("%s: plan %#x, want %#x", name, f.plan(), plan)
		}
	}
}
