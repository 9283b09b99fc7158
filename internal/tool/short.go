package tool

import (
	"strings"

	"github.com/hawktrace/hawk/internal/probe"
)

// Probe is an attach point in hawk's form of one that may be in the short form that other
// collections of tools know: a function of the kernel (vfs_read, p::vfs_read, r::vfs_read),
// of a library or program (c:malloc, p:lib:f, r:lib:f), t:category:event, u:path:probe.
// kprobes says that functions of the kernel are traced by kprobes; else it is by fentry.
// Functions of the kernel come with kprobes or without, by the machine, and people type the
// same.
func Probe(text string, kprobes bool) string {
	entry, exit := "kprobe:", "kretprobe:"
	if !kprobes {
		entry, exit = "fentry:", "fexit:"
	}
	first, rest, several := strings.Cut(text, ":")
	if !several {
		return entry + text
	}
	target, function, _ := strings.Cut(rest, ":")
	switch first {
	case "", "p", "r":
		kernel, user := entry, "uprobe:"
		if first == "r" {
			kernel, user = exit, "uretprobe:"
		}
		// p:FUNCTION has no library in between.
		if !strings.Contains(rest, ":") {
			target, function = "", rest
		}
		if target == "" {
			return kernel + function
		}
		return user + library(target) + ":" + function
	case "t":
		return "tracepoint:" + rest
	case "u":
		return "usdt:" + rest
	}
	if _, ok := probe.Lookup(first); ok && !strings.Contains(first, "/") {
		return text
	}
	return "uprobe:" + library(first) + ":" + rest
}

// library is the name of a library: c is short for the C library. It finds the one that the
// machine has, whatever its file is called.
func library(name string) string {
	if name == "c" {
		return "libc"
	}
	return name
}

// CutLast cuts a probe, in the short form or in hawk's, in front of its last part, which is a regular
// expression: colons in brackets and behind a backslash are the expression's.
func CutLast(text string) (before, expression string) {
	depth, at := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '[':
			i = endOfSet(text, i)
		case '(':
			depth++
		case ')':
			depth--
		case ':':
			if depth == 0 {
				at = i + 1
			}
		}
	}
	return text[:at], text[at:]
}

// endOfSet is where a set of characters ends, whose bracket is at i: a bracket that comes first is one
// of them, and [:alpha:] is a class of them.
func endOfSet(text string, i int) int {
	i++
	if strings.HasPrefix(text[i:], "^") {
		i++
	}
	for first := i; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case text[i] == ']' && i > first:
			return i
		case strings.HasPrefix(text[i:], "[:"):
			if end := strings.Index(text[i:], ":]"); end > 0 {
				i += end + 1
			}
		}
	}
	return i
}
