package builtin

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hawktrace/hawk/internal/syntax"
)

// ClockOf is the clock of a time stamp expression that is a plain nsecs call,
// "" for any other expression: arithmetic forgets the clock.
func ClockOf(e syntax.Expr) string {
	switch e := e.(type) {
	case *syntax.Paren:
		return ClockOf(e.X)
	case *syntax.Ident:
		if e.Name == "nsecs" {
			return "boot"
		}
	case *syntax.Call:
		if e.Func.Name != "nsecs" {
			return ""
		}
		if len(e.Args) == 1 {
			if w, ok := e.Args[0].(*syntax.Ident); ok {
				return w.Name
			}
		}
		return "boot"
	}
	return ""
}

// Strftime formats t by a strftime(3) format of the C locale. %f, %l and %k
// are micro-, milli- and nanoseconds of fixed width.
func Strftime(format string, t time.Time) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		if format[i] == 'E' || format[i] == 'O' { // alternative forms equal the plain ones in the C locale
			if i+1 == len(format) {
				break
			}
			i++
		}
		b.WriteString(conversion(format[i], t))
	}
	return b.String()
}

func conversion(c byte, t time.Time) string {
	layout := func(l string) string { return t.Format(l) }
	two := func(n int) string { return fmt.Sprintf("%02d", n) }
	switch c {
	case 'a':
		return layout("Mon")
	case 'A':
		return layout("Monday")
	case 'b', 'h':
		return layout("Jan")
	case 'B':
		return layout("January")
	case 'c':
		return layout("Mon Jan _2 15:04:05 2006")
	case 'C':
		return two(t.Year() / 100)
	case 'd':
		return two(t.Day())
	case 'D', 'x':
		return layout("01/02/06")
	case 'e':
		return layout("_2")
	case 'f':
		return fmt.Sprintf("%06d", t.Nanosecond()/1000)
	case 'F':
		return layout("2006-01-02")
	case 'g':
		y, _ := t.ISOWeek()
		return two(y % 100)
	case 'G':
		y, _ := t.ISOWeek()
		return strconv.Itoa(y)
	case 'H':
		return two(t.Hour())
	case 'I':
		return layout("03")
	case 'j':
		return fmt.Sprintf("%03d", t.YearDay())
	case 'k':
		return fmt.Sprintf("%09d", t.Nanosecond())
	case 'l':
		return fmt.Sprintf("%03d", t.Nanosecond()/1e6)
	case 'm':
		return two(int(t.Month()))
	case 'M':
		return two(t.Minute())
	case 'n':
		return "\n"
	case 'p':
		return layout("PM")
	case 'P':
		return layout("pm")
	case 'r':
		return layout("03:04:05 PM")
	case 'R':
		return layout("15:04")
	case 's':
		return strconv.FormatInt(t.Unix(), 10)
	case 'S':
		return two(t.Second())
	case 't':
		return "\t"
	case 'T', 'X':
		return layout("15:04:05")
	case 'u':
		return strconv.Itoa((int(t.Weekday())+6)%7 + 1)
	case 'U':
		return two((t.YearDay() + 6 - int(t.Weekday())) / 7)
	case 'V':
		_, w := t.ISOWeek()
		return two(w)
	case 'w':
		return strconv.Itoa(int(t.Weekday()))
	case 'W':
		return two((t.YearDay() + 6 - (int(t.Weekday())+6)%7) / 7)
	case 'y':
		return layout("06")
	case 'Y':
		return strconv.Itoa(t.Year())
	case 'z':
		return layout("-0700")
	case 'Z':
		return layout("MST")
	case '%':
		return "%"
	}
	return "%" + string(c)
}
