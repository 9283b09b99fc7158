package hawk_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/hawktrace/hawk"
)

// TestDecodeErrors: the value of an error can be looked into, and events without a value say so.
func TestDecodeErrors(t *testing.T) {
	s := start(t, `begin { print((a=(1, "x"), b=300)); printf("text\n"); exit(); }`, nil, nil)
	for ev, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		var bad *hawk.DecodeError
		if ev.Kind != hawk.Print {
			var r struct{ A any }
			if err := ev.Decode(&r); !errors.As(err, &bad) || !strings.Contains(err.Error(), ev.Kind.String()) {
				t.Errorf("%v: %v", ev.Kind, err)
			}
			continue
		}
		var tuple struct{ A [3]any }
		if !errors.As(ev.Decode(&tuple), &bad) || bad.Field != "A" {
			t.Fatalf("%#v", bad)
		}
		if v := bad.Value; v.Len() != 2 || v.At(1).String() != "x" || v.Type().Kind() != hawk.TupleType ||
			fmt.Sprint(v.Interface()) != "[1 x]" {
			t.Errorf("the value is %s %v", v.Type(), v)
		}
		var small struct{ B int8 }
		if !errors.As(ev.Decode(&small), &bad) || bad.Value.String() != "300" {
			t.Errorf("%#v", bad)
		}
	}
}

// TestDecodedLeaves: what does not fit by its types or has no field of the struct is left to others.
func TestDecodedLeaves(t *testing.T) {
	const script = `begin { print((a=1)); print((a="x")); print("s"); print((b=3));
		print((1, 2)); print((a=300)); exit(); }`
	type record struct{ A int8 }
	var got []string
	rest := func(ev hawk.Event) error {
		if ev.Kind == hawk.Print {
			got = append(got, "rest "+ev.Value.String())
		}
		return nil
	}
	for r, err := range hawk.Decoded[record](start(t, script, nil, nil), rest) {
		got = append(got, fmt.Sprint(r.A, " ", err))
	}
	const want = "1 <nil>|rest { .a = x }|rest s|rest { .b = 3 }|1 <nil>|" +
		"0 hawk: cannot decode 300 into int8 of field A"
	if text := strings.Join(got, "|"); text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	for r, err := range hawk.Decoded[record](start(t, `begin { print((b=3)); exit(); }`, nil, nil), nil) {
		if bad := (*hawk.DecodeError)(nil); !errors.As(err, &bad) {
			t.Errorf("%v, %v", r, err)
		}
	}
}

// TestSignalBeforeStop: a signal is acted on, also if the run is stopped at once.
func TestSignalBeforeStop(t *testing.T) {
	for range 20 {
		s := start(t, `interval:s:100 { } self:signal:SIGUSR1 { printf("signal\n"); }`, nil, nil)
		s.Signal()
		s.Stop()
		seen := false
		for ev := range s.Events() {
			seen = seen || string(ev.Text) == "signal\n"
		}
		if s.Close(); !seen {
			t.Fatal("the signal was forgotten")
		}
	}
}

// TestNilOutputs: what has nowhere to go is not written, and a queue takes only the memory it needs.
func TestNilOutputs(t *testing.T) {
	privileged(t)
	p, err := compile(t, `begin { print(1); exit(3); }`, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []hawk.Output{hawk.TextOutput(nil, nil), hawk.JSONOutput(nil), nil} {
		r, err := p.Run(context.Background(), &hawk.RunOptions{Output: o, Buffer: 1 << 60})
		if err != nil || r.Status != 3 {
			t.Errorf("%T: %+v, %v", o, r, err)
		}
	}
}

// TestMadeErrors: errors that tests of a caller make have a text.
func TestMadeErrors(t *testing.T) {
	for want, err := range map[string]error{
		"hawk: permission denied: CAP_BPF":                      &hawk.PermissionError{Need: []string{"CAP_BPF"}},
		"hawk: a probe cannot be attached: kprobe:f":            &hawk.AttachError{Probe: "kprobe:f"},
		"hawk: the kernel's verifier refused a program: p":      &hawk.VerifierError{Probe: "p"},
		"hawk: the object was made for another machine: format": &hawk.BindError{Fact: "format"},
		"hawk: unsupported operation: ringbuf: 5.8":             &hawk.FeatureError{Feature: "ringbuf", Since: "5.8"},
	} {
		if err.Error() != want {
			t.Errorf("%T: %s, want %s", err, err, want)
		}
	}
}

// TestLongDecodeErrors: an error is one short line, whatever the value is.
func TestLongDecodeErrors(t *testing.T) {
	s := start(t, `begin { @h = hist(3); @l = lhist(3, 0, 9, 1); @t = tseries(1, 1s, 2);
		@s = kstack; @a = str("`+strings.Repeat("long ", 100)+`"); }`, nil, nil)
	for name, of := range map[string]string{
		"@h": "hist_t", "@l": "lhist_t", "@t": "tseries_t", "@s": "kstack", "@a": "string",
	} {
		m, err := s.Map(name)
		if err != nil {
			t.Fatal(err)
		}
		v, _, err := m.Get()
		if err != nil {
			t.Fatal(err)
		}
		var n int
		err = v.Decode(&n)
		if err == nil || !strings.HasPrefix(err.Error(), "hawk: cannot decode a value of type "+of) ||
			strings.Contains(err.Error(), "\n") || len(err.Error()) > 150 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// station is what a script reads from the memory of this process.
var station = [12]byte{1, 2, 3, 4, 5, 6, 'h', 'e', 'l', 'l', 'o'}

// TestDecodeOwnTypes: a field can be a Value, a type that makes itself from text, or have one type for all parts.
func TestDecodeOwnTypes(t *testing.T) {
	s := start(t, fmt.Sprintf(`struct station { unsigned char address[6]; char name[6]; };
begin {
	$s = (struct station *)uptr(%d);
	print((ip=ntop(0x0100007f), tu=(1, -2, 3), station=*$s, address=$s->address, mac=macaddr($s->address),
		level="WARN", sym=ksym(16)));
	exit();
}`, uintptr(unsafe.Pointer(&station))), nil, nil)
	type record struct {
		IP      net.IP
		Addr    netip.Addr `hawk:"ip"`
		Tu      []int16
		Array   [3]int         `hawk:"tu"`
		ByPlace map[string]int `hawk:"tu"`
		Station hawk.Value
		Bytes   []byte           `hawk:"address"`
		Address net.HardwareAddr `hawk:"address"`
		MAC     net.HardwareAddr
		Level   slog.Level
		Sym     number
	}
	want := record{
		IP: net.IPv4(127, 0, 0, 1), Addr: netip.AddrFrom4([4]byte{127, 0, 0, 1}),
		Tu: []int16{1, -2, 3}, Array: [3]int{1, -2, 3}, ByPlace: map[string]int{"0": 1, "1": -2, "2": 3},
		Bytes: station[:6], Address: station[:6], MAC: station[:6], Level: slog.LevelWarn, Sym: 16,
	}
	for got, err := range hawk.Decoded[record](s, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if v := got.Station; v.Field("name").String() != "hello" || v.Type().String() != "struct station" {
			t.Errorf("a value %s %v", v.Type(), v)
		}
		got.Station = hawk.Value{}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	}
	if t.Failed() {
		return
	}
	s = start(t, `begin { print((1, "x")); exit(); }`, nil, nil)
	for v, err := range hawk.Decoded[hawk.Value](s, nil) {
		var mixed []int
		var bad *hawk.DecodeError
		if err != nil || v.Len() != 2 {
			t.Errorf("%v, %v", v, err)
		}
		if !errors.As(v.Decode(&mixed), &bad) || bad.Field != "1" {
			t.Errorf("%+v", bad)
		}
	}
}

// A number is one that text is not read into: a symbol is its address.
type number uint64

func (n *number) UnmarshalText([]byte) error { return errors.New("called") }

// header is what a script reads as a struct ethhdr of the kernel: addresses with a zero within, and nothing behind.
var header = [16]byte{'a', 'b', 0, 'd', 'e', 'f', 0xff, 1, 2, 3, 4, 5}

// TestDecodeKernelBytes: bytes of the kernel's types are shown as text, and decode to all that they are.
func TestDecodeKernelBytes(t *testing.T) {
	s := start(t, fmt.Sprintf(`begin {
	$e = (struct ethhdr *)uptr(%d);
	print((to=$e->h_dest, from=$e->h_source));
	@[$e->h_dest, 1] = count();
	exit();
}`, uintptr(unsafe.Pointer(&header))), nil, nil)
	type record struct {
		Text  string           `hawk:"to"`
		Str   hawk.Str         `hawk:"to"`
		Bytes []byte           `hawk:"to"`
		Array [6]byte          `hawk:"to"`
		Wide  []int            `hawk:"from"`
		MAC   net.HardwareAddr `hawk:"from"`
		Any   any              `hawk:"to"`
		Value hawk.Value       `hawk:"to"`
	}
	want := record{
		Text: "ab", Str: hawk.Str{Text: "ab"}, Bytes: header[:6], Array: [6]byte(header[:6]),
		Wide: []int{0xff, 1, 2, 3, 4, 5}, MAC: header[6:12], Any: "ab",
	}
	events := 0
	for got, err := range hawk.Decoded[record](s, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if v := got.Value; v.String() != "ab" || v.Len() != 6 || v.At(3).String() != "100" {
			t.Errorf("a value %s of %d parts", v, v.Len())
		}
		got.Value = hawk.Value{}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
		events++
	}
	if events != 1 {
		t.Errorf("%d events", events)
	}
	m, err := s.Map("@")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []any{header[:6], [6]byte(header[:6])} {
		if v, ok, err := m.Get(key, 1); err != nil || !ok || v.String() != "1" {
			t.Errorf("Get(%v): %v, %v, %v", key, v, ok, err)
		}
	}
	if _, ok, err := m.Get("ab", 1); err != nil || ok {
		t.Errorf("another key of the same text: %v, %v", ok, err)
	}
	if _, _, err := m.Get(header[:7], 1); err == nil {
		t.Error("a key that is too long is taken")
	}
}
