package output

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/hawktrace/hawk/internal/value"
)

const wide = "TIME(s):>12e PID:<7 COMM:<16 LAT(ms):>9/ms.3 KB:>4/K X:>4x PATH:<4"

func sampleRows() []Item {
	lines := &value.Stack{Addrs: []uint64{1, 2}, Namer: callers{{Func: "f", Offset: 1}, {Func: "g;", Offset: 2}}}
	row := func(cells ...value.Value) Row {
		return Row{Spec: wide, Cells: cells, Boot: time.Unix(0, 0), Start: 5_000_000_000}
	}
	return []Item{
		Header{Spec: wide}, Header{Spec: wide},
		row(value.Uint(5_000_123_456), value.Int(42), value.Str("a\nb\x1b"), value.Int(-1234567), value.Uint(4608),
			value.Int(-1), value.Str("x, \"y\"")),
		row(value.Uint(4_999_999_999), value.Int(1), value.Str("longer than sixteen chars"), value.Int(999_999_500),
			value.Uint(511), value.Int(255), value.Str(""), lines),
		End{},
	}
}

func TestRows(t *testing.T) {
	for _, c := range []struct {
		name string
		sink func(w *bytes.Buffer) Sink
		want string
	}{
		{"text", func(w *bytes.Buffer) Sink { return NewText(w, w, Options{}) },
			"     TIME(s) PID     COMM               LAT(ms)   KB    X PATH\n" +
				"    0.000123 42      a\\nb\\x1b            -1.235    5 ffffffffffffffff x, \"y\"\n" +
				"    0.000000 1       longer than sixteen chars  1000.000    0   ff\n" +
				"    f+1\n    g;+2\n\n\n"},
		{"json", func(w *bytes.Buffer) Sink { return NewJSON(w, w, Options{}) },
			`{"type": "row", "data": {"time_s": 0.000123, "pid": 42, "comm": "a\nb\u001b", ` +
				`"lat_ms": -1.235, "kb": 5, "x": -1, "path": "x, \"y\""}}` + "\n" +
				`{"type": "row", "data": {"time_s": 0.000000, "pid": 1, "comm": "longer than sixteen chars", ` +
				`"lat_ms": 1000.000, "kb": 0, "x": 255, "path": "", "stack_1": ["f+1", "g;+2"]}}` + "\n"},
		{"csv", func(w *bytes.Buffer) Sink { return NewCSV(w, w, Options{}) },
			"TIME(s),PID,COMM,LAT(ms),KB,X,PATH\r\n" +
				"0.000123,42,a\\nb\\x1b,-1.235,5,ffffffffffffffff,\"x, \"\"y\"\"\"\r\n" +
				"0.000000,1,longer than sixteen chars,1000.000,0,ff,,f+1;g;+2\r\n"},
	} {
		var w bytes.Buffer
		sink := c.sink(&w)
		for _, it := range sampleRows() {
			if err := sink.Write(it); err != nil {
				t.Fatal(err)
			}
		}
		if err := sink.Flush(); err != nil {
			t.Fatal(err)
		}
		if got := w.String(); got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
}

// TestJoined: what belongs together is one column in text, and apart everywhere else.
func TestJoined(t *testing.T) {
	const spec = "IP:<2 LADDR:<15 :LPORT T :> RADDR:<12 ::RPORT OLD:<3 -> NEW > X"
	row := func(l, r string) Row {
		return Row{Spec: spec, Cells: []value.Value{value.Int(4), value.Str(l), value.Int(22), value.Str("R"),
			value.Str(r), value.Int(80), value.Str("a"), value.Str("b"), value.Int(1)}}
	}
	rows := []Item{row("10.0.0.5", "::1"), row("", "longer.example.org"), End{}}
	const text = "IP LADDR:LPORT     T> RADDR        OLD -> NEW > X\n" +
		"4  10.0.0.5:22     R> [::1]:80     a   -> b   > 1\n" +
		"4  :22             R> longer.example.org:80 a   -> b   > 1\n\n\n"
	for _, c := range []struct {
		sink func(w *bytes.Buffer) Sink
		want string
	}{
		{func(w *bytes.Buffer) Sink { return NewText(w, w, Options{}) }, text},
		{func(w *bytes.Buffer) Sink {
			return &Chosen{Sink: NewText(w, w, Options{}), Columns: []string{"NEW", "RPORT", "LADDR", "LPORT", "T"}}
		}, "NEW RPORT LADDR:LPORT     T\nb   80    10.0.0.5:22     R\nb   80    :22             R\n\n\n"},
		{func(w *bytes.Buffer) Sink { return NewCSV(w, w, Options{}) },
			"IP,LADDR,LPORT,T,RADDR,RPORT,OLD,NEW,X\r\n4,10.0.0.5,22,R,::1,80,a,b,1\r\n" +
				"4,,22,R,longer.example.org,80,a,b,1\r\n"},
	} {
		var w bytes.Buffer
		sink := c.sink(&w)
		for _, it := range rows {
			sink.Write(it)
		}
		sink.Flush()
		if w.String() != c.want {
			t.Errorf("got %q\nwant %q", w.String(), c.want)
		}
	}
	columns, err := ParseColumns(spec)
	if err != nil || len(columns) != ColumnCount(spec) {
		t.Fatalf("%d columns, %d counted: %v", len(columns), ColumnCount(spec), err)
	}
	again := ""
	for i := range columns {
		again += columns[i].String() + " "
	}
	if other, err := ParseColumns(again); err != nil || !slices.Equal(other, columns) {
		t.Errorf("%q is read as %v, %v", again, other, err)
	}
}

func TestFixed(t *testing.T) {
	for _, c := range []struct {
		n      number
		unit   uint64
		digits int
		want   string
	}{
		{number{false, 1499}, 1000, -1, "1"},
		{number{false, 1500}, 1000, -1, "2"},
		{number{true, 1500}, 1000, -1, "-2"},
		{number{true, 499}, 1000, -1, "0"},
		{number{true, 499}, 1000, 1, "-0.5"},
		{number{false, 999_999_999}, 1e9, 3, "1.000"},
		{number{false, 1<<64 - 1}, 1, 9, "18446744073709551615.000000000"},
		{number{false, 1<<64 - 1}, 1 << 30, 9, "17179869183.999999999"},
		{number{false, 1<<64 - 1}, 1<<64 - 1, 2, "1.00"},
		{number{false, 1 << 63}, 1<<64 - 1, 9, "0.500000000"},
		{number{false, 5}, 7, 4, "0.7143"},
	} {
		if got := string(c.n.appendFixed(nil, c.unit, c.digits)); got != c.want {
			t.Errorf("%v / %d with %d digits = %s, want %s", c.n, c.unit, c.digits, got, c.want)
		}
	}
}

func TestParseColumns(t *testing.T) {
	for _, c := range []struct{ spec, want string }{
		{"PID:<7 COMM", "PID:<7 COMM:4"},
		{"LAT(us):>3/us.1?long", "LAT(us):>7/1000.1"},
		{"T(s):e?!plain", "T(s):4.6e"},
		{"PID:<7z MS:/ms.3z", "PID:<7z MS:2/1000000.3z"},
		{"R:/100.2%", "R:1/100.2%"},
		{"A:x B:/512", "A:1x B:1/512"},
		{"", "there are no columns"},
		{"A A", "column A is there twice"},
		{"TIME(s) TIME_S", "column TIME_S is there twice"},
		{"()", "column '()': it needs a name"},
		{"A?", "column 'A?': the name of an option is missing"},
		{"A:/0", "column 'A:/0': a unit is ns, us, ms, s, K, M, G or a number"},
		{"A:.x", "column 'A:.x': a number of digits is missing"},
		{"A:.10", "column 'A:.10': more than 9 digits"},
		{"A:99999999999999999999", "column 'A:99999999999999999999': it is wider than 1000"},
		{"A:/msx", "column 'A:/msx': a unit is ns, us, ms, s, K, M, G or a number"},
		{"A:/ms.1x", "column 'A:/ms.1x': x, o, t, e and q take no unit and no digits"},
	} {
		columns, err := ParseColumns(c.spec)
		got := ""
		for i := range columns {
			if i > 0 {
				got += " "
			}
			got += columns[i].String()
		}
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("ParseColumns(%q) = %s, want %s", c.spec, got, c.want)
		}
	}
}

func FuzzParseColumns(f *testing.F) {
	f.Add(wide)
	f.Add("A:<3/ms.2?x B?!y C:t")
	f.Fuzz(func(t *testing.T, spec string) {
		columns, err := ParseColumns(spec)
		for i := range columns {
			again, err2 := ParseColumns(columns[i].String())
			if err == nil && (err2 != nil || again[0].String() != columns[i].String()) {
				t.Errorf("%q reads back as %v, %v", columns[i].String(), again, err2)
			}
		}
	})
}
