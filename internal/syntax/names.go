package syntax

import "strings"

// IsParserBuiltin reports whether name is one of the values that the grammar
// itself knows. Such a name is never a type, a field of a record literal or a
// macro parameter.
// args.x must be a member and (pid) * 2 a product before anything is known of macros and types.
func IsParserBuiltin(name string) bool {
	switch name {
	case "args", "ctx", "kstack", "ustack", "nsecs", "pid", "tid":
		return true
	}
	if rest, ok := strings.CutPrefix(name, "arg"); ok && allDigits(rest) {
		return true
	}
	if rest, ok := strings.CutPrefix(name, "sarg"); ok && allDigits(rest) {
		return true
	}
	return strings.HasPrefix(name, "__builtin_")
}

// IsTypeName reports whether a bare name is a type in every script: the types
// of the language, those of builtins, and the C and kernel spellings that are always known.
// It is large: inlined, it would be in the binary six times.
//
//go:noinline
func IsTypeName(name string) bool {
	switch name {
	case "bool", "void", "string", "buffer",
		"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
		"int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t",
		"u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64",
		"__u8", "__u16", "__u32", "__u64", "__s8", "__s16", "__s32", "__s64",
		"size_t", "ssize_t", "pid_t", "uid_t", "gid_t", "uintptr_t", "intptr_t",
		"count_t", "sum_t", "usum_t", "min_t", "umin_t", "max_t", "umax_t", "avg_t", "uavg_t", "stats_t", "ustats_t":
		return true
	}
	return isCWord(name) || typeNames[name]
}

// typeNames are the types that builtins have of their own.
var typeNames = map[string]bool{}

// AddTypeName makes a name that of a type in every script. The tables call it while packages start.
func AddTypeName(name string) { typeNames[name] = true }

// isCWord reports whether name is a part of the C type names that take several
// words, such as unsigned long long.
func isCWord(name string) bool {
	switch name {
	case "unsigned", "signed", "long", "short", "int", "char":
		return true
	}
	return false
}

// isPrimaryKeyword reports whether name has a meaning of its own at the start
// of an expression, so that it cannot be a type there.
func isPrimaryKeyword(name string) bool {
	switch name {
	case "if", "sizeof", "offsetof", "typeinfo", "comptime", "true", "false":
		return true
	}
	return false
}

// isTag reports whether a word says that the name of a struct, union or enum follows.
func isTag(name string) bool { return name == "struct" || name == "union" || name == "enum" }

// allDigits reports whether s is one digit or more.
func allDigits(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

// isDigit is about ASCII, of which all names and numbers are: other letters only look like
// these.
func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isNameStart reports whether a byte may begin a name.
func isNameStart(c byte) bool { return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// isNamePart reports whether a byte may go on with a name.
func isNamePart(c byte) bool { return isNameStart(c) || isDigit(c) }

// isName reports whether s is one identifier.
func isName(s string) bool {
	for i := range len(s) {
		if !isNamePart(s[i]) {
			return false
		}
	}
	return s != "" && isNameStart(s[0])
}
