package probe

import (
	"errors"
	"strings"
)

// kinds is the table in alphabetical order of names; every file of a kind
// adds its entries. byName has names and aliases, long ones in lower case.
var (
	kinds  []*Kind
	byName = make(map[string]*Kind, 64)
)

// Define enters a kind into the table.
func Define(k Kind) *Kind {
	if k.Type == "" {
		k.Type = k.Name
	}
	if k.Plan == nil {
		panic("probe: nothing attaches " + k.Name)
	}
	if k.CanonicalName == nil {
		k.CanonicalName = canonicalName
	}
	kind := &k
	for _, n := range append([]string{k.Name}, k.Aliases...) {
		if byName[n] != nil {
			panic("probe: " + n + " is defined twice")
		}
		byName[n] = kind
	}
	i := len(kinds)
	for i > 0 && kinds[i-1].Name > k.Name {
		i--
	}
	kinds = append(kinds, nil)
	copy(kinds[i+1:], kinds[i:])
	kinds[i] = kind
	return kind
}

// Lookup finds a kind by name or alias. Long names match in any case; those of
// one or two letters must be written exactly, since u and U differ.
func Lookup(name string) (*Kind, bool) {
	if len(name) > 2 {
		name = strings.ToLower(name)
	}
	k, ok := byName[name]
	return k, ok
}

// returnWord stands in front of an attach point whose function's return is meant.
const returnWord = "return"

// KindOf is the kind of an attach point and the parts behind its name. Behind "return"
// it is the kind that fires when the function returns.
func KindOf(point []Part) (k *Kind, parts []Part, err error) {
	if len(point) > 1 && point[0].Text == returnWord && !point[0].Literal {
		k, ok := Lookup(point[1].Text)
		if !ok {
			return nil, nil, UnknownKind(point[1].Text)
		}
		back, ok := Lookup(k.Returns)
		if !ok {
			return nil, nil, errors.New("A " + k.Name + " has no return")
		}
		return back, point[2:], nil
	}
	k, ok := Lookup(point[0].Text)
	if !ok {
		return nil, nil, UnknownKind(point[0].Text)
	}
	return k, point[1:], nil
}

// UnknownKind is the error about a word that is no kind of probe.
type UnknownKind string

func (u UnknownKind) Error() string { return "Invalid probe type: " + string(u) }

// Removed says what to use instead of a kind of probe that the language had; ""
// for any other name.
func Removed(name string) string {
	if len(name) > 2 {
		name = strings.ToLower(name)
	}
	for _, k := range kinds {
		if instead := k.Removed[name]; instead != "" {
			return instead
		}
	}
	return ""
}

// Kinds lists the table in alphabetical order.
func Kinds() []*Kind { return kinds }

// Words lists every name and alias, unsorted, for suggestions.
func Words() []string {
	out := make([]string, 0, len(byName))
	for n := range byName {
		out = append(out, n)
	}
	return out
}

// Candidates lists the kinds that a pattern in place of the kind's name stands
// for, in alphabetical order: with user set those of files and processes, else
// those of the kernel. Return probes are never among them.
func Candidates(pattern string, user bool) []*Kind {
	class := KernelWild
	if user {
		class = UserWild
	}
	var out []*Kind
	for _, k := range kinds {
		if k.Wild == class && Glob(pattern, k.Name) {
			out = append(out, k)
		}
	}
	return out
}
