package view

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/hawktrace/hawk/internal/value"
)

// A Unit is what numbers count; NoUnit is a plain number.
type Unit uint8

// The units.
const (
	NoUnit Unit = iota
	Nanoseconds
	Microseconds
	Milliseconds
	Seconds
	Bytes
	KiB
	MiB
	Pages
	Jiffies
	Percent
)

// units has the words for a unit, the one that is printed first.
var units = [...][]string{
	Nanoseconds:  {"ns", "nsec", "nsecs"},
	Microseconds: {"us", "usec", "usecs"},
	Milliseconds: {"ms", "msec", "msecs"},
	Seconds:      {"s", "sec", "secs", "seconds"},
	Bytes:        {"bytes"},
	KiB:          {"kib", "kb"},
	MiB:          {"mib", "mb"},
	Pages:        {"pages"},
	Jiffies:      {"jiffies"},
	Percent:      {"percent"},
}

func (u Unit) String() string {
	if u == NoUnit {
		return ""
	}
	return units[u][0]
}

// Upper is the end of a bucket: times end where the next bucket begins, since they were rounded down; what is counted
// ends one before.
func (u Unit) Upper(b *value.Bucket) float64 {
	end := b.High().Float()
	if u >= Nanoseconds && u <= Seconds {
		end++
	}
	return end
}

// UnitNamed finds the unit that a word stands for, NoUnit if it is none.
func UnitNamed(word string) Unit {
	for u, words := range units {
		for _, w := range words {
			if w == word {
				return Unit(u)
			}
		}
	}
	return NoUnit
}

// UnitOfName is what the last word of a name says: words are split at _ and
// where case changes.
func UnitOfName(name string) Unit { return UnitNamed(lastWord(name)) }

// Identifies reports whether numbers of that name tell things apart rather than measure
// them, by its last word: they are shown digit by digit.
func Identifies(name string) bool {
	switch lastWord(name) {
	case "pid", "tid", "tgid", "ppid", "cpid", "uid", "gid", "euid", "egid", "cpu", "numaid", "cgroup", "jid", "fd",
		"port", "sport", "dport", "lport", "rport", "ino", "inode", "dev", "id", "syscall", "errno", "signal", "sig":
		return true
	}
	return false
}

// lastWord is the last word of a name, in small letters.
func lastWord(name string) string {
	name = strings.TrimPrefix(name, "@")
	start := strings.LastIndexByte(name, '_') + 1
	for i := len(name) - 1; i > start; i-- {
		if unicode.IsUpper(rune(name[i])) && !unicode.IsUpper(rune(name[i-1])) {
			start = i
			break
		}
	}
	return strings.ToLower(name[start:])
}

// Grouped is a whole number with commas.
func Grouped[N int | int64 | uint64](n N) string { return grouped(fmt.Sprint(n)) }

// Rounded is the whole number next to x with commas, however large.
func Rounded(x float64) string { return grouped(strconv.FormatFloat(x, 'f', 0, 64)) }

func grouped(digits string) string {
	text, negative := strings.CutPrefix(digits, "-")
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	if negative {
		return "-" + text
	}
	return text
}

// Counted is a number of things, with an s if there is not just one.
func Counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return Grouped(n) + " " + thing
}
