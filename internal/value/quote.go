package value

import (
	"strings"
	"unicode/utf8"
)

// AppendQuoted adds the text of a value as a shell would have to be given it: what has a meaning to a shell is quoted,
// the words of a program each by itself, so that the line can be run again.
func AppendQuoted(dst []byte, v Value) []byte {
	words, ok := v.(Words)
	if !ok {
		return appendQuotedWord(dst, string(AppendText(nil, v)))
	}
	for i, word := range words.Words {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = appendQuotedWord(dst, word)
	}
	if words.Cut {
		dst = append(dst, " ..."...)
	}
	return dst
}

// plainMarks are the characters beside letters and digits that mean nothing to a shell wherever they stand.
const plainMarks = "@%_-+=:,./"

// appendQuotedWord adds a word: as it is, in single quotes, or, if it has what no line shows, as $'…'.
func appendQuotedWord(dst []byte, s string) []byte {
	plain, shows := s != "", true
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1, r < ' ', r == 0x7f, Commands(r):
			shows = false
		case r >= utf8.RuneSelf, r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		case strings.IndexByte(plainMarks, byte(r)) < 0:
			plain = false
		}
		i += size
	}
	switch {
	case !shows:
		s = strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s)
		return append(appendEscaped(append(dst, `$'`...), s, ""), '\'')
	case plain:
		return append(dst, s...)
	}
	return append(append(append(dst, '\''), strings.ReplaceAll(s, `'`, `'\''`)...), '\'')
}
