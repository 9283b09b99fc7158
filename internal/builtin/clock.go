package builtin

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

// Uint64 is the number that a value in memory begins with, 0 if it is cut short.
func Uint64(raw []byte) uint64 {
	if len(raw) < 8 {
		return 0
	}
	return binary.LittleEndian.Uint64(raw)
}

var _ = Define(Func{
	Name: "nsecs", Moment: true, Wide: true, Bare: true, Params: []Param{{"clock", Word}},
	Words:  []string{"boot", "monotonic", "tai", "sw_tai"},
	Yields: "uint64",
	Check: func(c *Call) types.Type {
		return &types.Int{Bytes: 8, Clock: nsecsClock(c)}
	},
	Doc: "Nanoseconds of a clock: `boot` (the default) counts from boot and includes suspend, `monotonic` " +
		"excludes it, `tai` and `sw_tai` count from 1970.",
	Example: `tracepoint:syscalls:sys_enter_read { @at[tid] = nsecs; } tracepoint:syscalls:sys_exit_read / ` +
		`@at[tid] / { @ns = hist(nsecs - @at[tid]); delete(@at, tid); }`,
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		clock := nsecsClock(c)
		switch {
		case clock == "monotonic":
			return Helper(g, asm.FnKtimeGetNs)
		// The helper is there from Linux 6.1 on; before, and for sw_tai, the difference between the
		// clocks when tracing begins is added.
		case clock == "tai" && g.Has(machine.KtimeTAI):
			return Helper(g, asm.FnKtimeGetTaiNs)
		case clock != "boot":
			// The offset is measured once, by user space, before tracing begins.
			off := g.B().U64(g.B().Data(object.DataTAI), 0)
			return g.B().Arith(ir.Add, Helper(g, asm.FnKtimeGetBootNs), off)
		}
		return Helper(g, asm.FnKtimeGetBootNs)
	},
})

var _ = Define(Func{
	Name: "elapsed", Moment: true, Wide: true, Also: []string{"__builtin_elapsed"}, Bare: true, Result: types.Uint64,
	Doc:     "Nanoseconds since tracing began.",
	Example: `interval:s:1 { printf("%d s\n", elapsed / 1000000000); }`,
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		// User space writes the moment before it attaches anything.
		start := g.B().U64(g.B().Data(object.DataStart), 0)
		return g.B().Arith(ir.Sub, Helper(g, asm.FnKtimeGetBootNs), start)
	},
})

// timestampType is {u64 ns; u64 0}; the clock and the format are in the type.
var timestampType = &types.Deferred{Name: "timestamp", By: 7, Bytes: 16, Algn: 8, Open: true}

var _ = Define(Func{
	Name: "strftime", LabelOf: LastArg, Min: 2, Params: []Param{{"format", StringLit}, {"ns", Integer}},
	Renders: timestampType,
	Doc: "The wall-clock text of a time stamp. A plain number or `nsecs` counts from boot; `nsecs(tai)` and " +
		"`nsecs(sw_tai)` from 1970. Beyond strftime(3): `%f` microseconds, `%l` milliseconds, `%k` nanoseconds.",
	Example: `interval:s:1 { printf("%s\n", strftime("%H:%M:%S", nsecs)); }`,
	Yields:  "timestamp",
	Check: func(c *Call) types.Type {
		format, ok := c.Str(0)
		if !ok {
			return nil
		}
		clock := "boot"
		if i, ok := c.Types[1].(*types.Int); ok && i.Clock != "" {
			clock = i.Clock
		} else if lost := lostClock(c.Args[1]); lost != "" {
			c.Warnf(c.Args[1], "bad-clock", "strftime() counts this from boot, as %s does not", lost).
				Hint("a sum has no clock: use nsecs, or nsecs(tai) alone")
		}
		if clock == "monotonic" {
			c.Errorf(c.Args[1], "bad-clock",
				"strftime() can not use a monotonic time stamp").Hint("use nsecs or nsecs(boot)")
		}
		if n, ok := c.Int(1); ok && c.Consts[1].Neg {
			c.Errorf(c.Args[1], "bad-argument", "strftime() needs a positive time stamp, not %d", n)
		}
		// Clock and format are part of the type, since they are the same for all values; they
		// travel by no record.
		return timestampType.With(clock + "\x00" + format)
	},
	Lower: func(g Gen, c *Call, dst *ir.Value) *ir.Value {
		p := Place(g, c.Result, dst)
		g.B().Store(p, 0, 8, g.Scalar(c.Args[1]))
		g.B().Store(p, 8, 8, Number(g, 0))
		return p
	},
	Render: func(e Env, t *types.Deferred, raw []byte) value.Value {
		clock, format, _ := strings.Cut(t.Arg, "\x00")
		ns := int64(Uint64(raw))
		at := time.Unix(0, ns)
		if clock == "boot" {
			at = e.BootTime().Add(time.Duration(ns))
		}
		text := Strftime(format, at)
		absent := ns == 0 && clock != "boot" // an element that is not there
		if text == "" || len(text) > e.Config().MaxStrlen || absent {
			text = "(?)"
		}
		return value.Moment{Text: text, At: at}
	},
})

var _ = Define(Func{
	Name: "time", Emits: true, Params: []Param{{"format", StringLit}}, Result: types.Void,
	Doc:     "Prints the wall-clock time at which the event is handled, by strftime(3); `%H:%M:%S\\n` by default.",
	Example: `interval:s:1 { time("%H:%M:%S\n"); }`,
	Lower: func(g Gen, c *Call, _ *ir.Value) *ir.Value {
		format := "%H:%M:%S\n"
		if len(c.Args) > 0 {
			format, _ = c.Str(0)
		}
		g.Event(c, &object.Event{Text: format}, nil)
		return nil
	},
	// The moment is that of user space, a little later than the event.
	Handle: func(e Env, ev *object.Event, rec []byte) error {
		text := Strftime(ev.Text, e.Now())
		if text == "" {
			return fmt.Errorf("time(): the format %q yields nothing", ev.Text)
		}
		e.Emit(output.Raw{Type: "time", Text: []byte(text), At: ev.At})
		return nil
	},
})

// nsecsClock is the clock that a call of nsecs reads.
func nsecsClock(c *Call) string {
	if len(c.Words) > 0 {
		return c.Words[0]
	}
	return "boot"
}

// lostClock names what does not count from boot in a sum, whose clock is that of plain numbers; "" if nothing does.
func lostClock(e syntax.Expr) string {
	switch e := e.(type) {
	case *syntax.Paren:
		return lostClock(e.X)
	case *syntax.Binary:
		return cmp.Or(lostClock(e.X), lostClock(e.Y))
	case *syntax.Ident:
		if e.Name == "elapsed" {
			return e.Name
		}
	case *syntax.Call:
		if e.Func.Name == "nsecs" && len(e.Args) == 1 {
			if w, ok := e.Args[0].(*syntax.Ident); ok && w.Name != "boot" {
				return "nsecs(" + w.Name + ")"
			}
		}
	}
	return ""
}

// Strftime formats t by a strftime(3) format of the C locale. %f, %l and %k are micro-, milli- and
// nanoseconds of fixed width. It is written here since Go's own formats are of another kind and the
// C library is not linked.
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

// conversion is the text of one conversion of strftime(3); one that does not exist stays as it is
// written.
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
	// %f, %l and %k are beyond strftime(3); the latter two are hours in GNU's C library.
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
	// Monday is 1 here and Sunday 7; Go counts from Sunday as 0.
	case 'u':
		return strconv.Itoa((int(t.Weekday())+6)%7 + 1)
	// The week of the year that begins with a Sunday, %W that with a Monday, as POSIX has them:
	// days of the year before the first such day are in week 0.
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
