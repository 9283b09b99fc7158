package hawk_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"io"
	"reflect"
	"testing"
	"testing/iotest"

	"github.com/hawktrace/hawk"
)

const portableText = `config = { max_map_keys = 50 }
begin { @n = count(); @n = count(); @h = hist(7); print((a = (int32)3, b = "x")); }
interval:ms:1 { printf("%s\n", getopt("word", "none")); exit(); }`

func portable(t testing.TB, s *hawk.Script) *hawk.Program {
	t.Helper()
	p, err := hawk.Compile(context.Background(), s, &hawk.CompileOptions{Portable: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A portable program says of itself what any other says, before and after it was
// written and read.
func TestPortable(t *testing.T) {
	script := &hawk.Script{Text: portableText, Options: map[string]string{"word": "given"}}
	p := portable(t, script)
	var b bytes.Buffer
	n, err := p.WriteTo(&b)
	if err != nil || n != int64(b.Len()) {
		t.Fatal(n, err)
	}
	again, err := hawk.Load(&b)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := hawk.Compile(context.Background(), script, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*hawk.Program{p, again} {
		maps, want := p.Maps(), plain.Maps()
		if len(maps) != len(want) {
			t.Fatalf("maps %v, want %v", maps, want)
		}
		for i := range want {
			if maps[i].Name != want[i].Name || maps[i].Agg != want[i].Agg ||
				maps[i].Value.String() != want[i].Value.String() {
				t.Errorf("map %v, want %v", maps[i], want[i])
			}
		}
		prints := p.Prints()
		if len(prints) != 1 || len(prints[0].Fields) != 2 || prints[0].Fields[1].Name != "b" {
			t.Errorf("prints %v", prints)
		}
		if probes := p.Probes(); !reflect.DeepEqual(probes, plain.Probes()) || len(probes) != 2 {
			t.Errorf("probes %v, want %v", probes, plain.Probes())
		}
		if len(p.Mechanisms()) != 2 || len(p.Options()) != 1 {
			t.Errorf("mechanisms %v, options %v", p.Mechanisms(), p.Options())
		}
	}
	if _, err := plain.WriteTo(&b); err == nil {
		t.Error("a program for this machine alone was written")
	}
}

// TestPortableProbes: what was written knows what its probes are on.
func TestPortableProbes(t *testing.T) {
	var b bytes.Buffer
	script := "tracepoint:syscalls:sys_enter_close, tracepoint:syscalls:sys_exit_close { } profile:hz:99 { }"
	if _, err := portable(t, &hawk.Script{Text: script}).WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	p, err := hawk.Load(&b)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []hawk.Probe{
		{Name: "tracepoint:syscalls:sys_enter_close", Kind: "tracepoint", Target: "syscalls", Func: "sys_enter_close"},
		{Name: "tracepoint:syscalls:sys_exit_close", Kind: "tracepoint", Target: "syscalls", Func: "sys_exit_close"},
		{Name: "profile:hz:99", Kind: "profile", Func: "hz"},
	} {
		if got := p.Probes()[i]; !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// TestPortableRuns: a program that was written runs as the script does, many times.
func TestPortableRuns(t *testing.T) {
	if err := hawk.Host().Privileges(); err != nil {
		t.Skip(err)
	}
	p := portable(t, &hawk.Script{Text: portableText, Options: map[string]string{"word": "given"}})
	var b bytes.Buffer
	if _, err := p.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	loaded, err := hawk.Load(&b)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*hawk.Program{p, loaded, loaded} {
		s, err := p.Start(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var text string
		var record struct {
			A int
			B string
		}
		for ev, err := range s.Events() {
			switch {
			case err != nil:
				t.Fatal(err)
			case ev.Kind == hawk.Print:
				if err := ev.Decode(&record); err != nil {
					t.Fatal(err)
				}
			case ev.Kind == hawk.Printf:
				text += string(ev.Text)
			}
		}
		m, err := s.Map("@n")
		if err != nil {
			t.Fatal(err)
		}
		if snap, err := m.Snapshot(); err != nil || len(snap.Entries) != 1 || snap.Entries[0].Value.String() != "2" {
			t.Errorf("@n is %v, %v", snap, err)
		}
		if text != "given\n" || record.A != 3 || record.B != "x" {
			t.Errorf("printed %q and %v", text, record)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Only what was signed with one of the keys is loaded.
func TestSigned(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	p := portable(t, &hawk.Script{Text: `begin { exit(); }`})
	var b bytes.Buffer
	if _, err := p.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	signature, err := p.Sign(private)
	if err != nil {
		t.Fatal(err)
	}
	object := b.Bytes()
	if _, err := hawk.LoadSigned(bytes.NewReader(object), signature, other, public); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		name      string
		signature []byte
		keys      []ed25519.PublicKey
	}{
		{"another key", signature, []ed25519.PublicKey{other}},
		{"no key", signature, nil},
		{"bad key", signature, []ed25519.PublicKey{nil}},
		{"no signature", nil, []ed25519.PublicKey{public}},
	} {
		_, err := hawk.LoadSigned(bytes.NewReader(object), c.signature, c.keys...)
		if !errors.Is(err, hawk.ErrSignature) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// Objects that were cut, changed or made by others are errors.
func TestDamaged(t *testing.T) {
	var b bytes.Buffer
	if _, err := portable(t, &hawk.Script{Text: `begin { @ = 1; }`}).WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	object := b.Bytes()
	for n := range object {
		if n > 200 && n%97 != 0 {
			continue
		}
		if _, err := hawk.Load(bytes.NewReader(object[:n])); !errors.Is(err, hawk.ErrDamaged) {
			t.Fatalf("%d bytes of %d: %v", n, len(object), err)
		}
		changed := bytes.Clone(object)
		changed[n] ^= 0x10
		_, err := hawk.Load(bytes.NewReader(changed))
		format := n >= 8 && n < 12
		if format && !errors.Is(err, hawk.ErrBind) || !format && !errors.Is(err, hawk.ErrDamaged) {
			t.Fatalf("an object with byte %d changed: %v", n, err)
		}
	}
	if _, err := hawk.Load(iotest.ErrReader(io.ErrClosedPipe)); errors.Is(err, hawk.ErrDamaged) ||
		!errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("what cannot be read: %v", err)
	}
	format := bytes.Clone(object)
	format[8]++
	var bind *hawk.BindError
	if _, err := hawk.Load(bytes.NewReader(format)); !errors.As(err, &bind) || bind.Fact != "format" {
		t.Errorf("another format: %v", err)
	}
	if _, err := hawk.Compile(context.Background(), &hawk.Script{Text: `begin { }`},
		&hawk.CompileOptions{Portable: true, PID: 1}); err == nil {
		t.Error("a portable program is for one process")
	}
	for _, c := range []struct {
		text   string
		policy hawk.Policy
	}{
		{`begin { cat("/etc/hostname"); }`, hawk.Policy{Deny: []string{"cat"}}},
		{`begin { exit(); } interval:s:1 { @ = 1; }`, hawk.Policy{Kinds: []string{"begin"}}},
		{`begin { print(str(uptr(1))); }`, hawk.Policy{}},
	} {
		_, err := hawk.Compile(context.Background(), &hawk.Script{Text: c.text},
			&hawk.CompileOptions{Portable: true, Unsafe: true, Policy: &c.policy})
		if !errors.Is(err, hawk.ErrPolicy) {
			t.Errorf("%s: %v", c.text, err)
		}
	}
	if _, err := hawk.Compile(context.Background(), &hawk.Script{Text: `begin { nothing(); }`},
		&hawk.CompileOptions{Portable: true}); !errors.Is(err, hawk.ErrScript) {
		t.Errorf("a wrong script: %v", err)
	}
}

// FuzzLoad: whatever the bytes are, they are a program or an error, and what is loaded
// says what it is.
func FuzzLoad(f *testing.F) {
	p := portable(f, &hawk.Script{Text: portableText})
	f.Add(p.Payload(), true)
	f.Add(hawk.Sealed(p.Payload()), false)
	f.Add([]byte("hawk\x00obj"), false)
	f.Fuzz(func(t *testing.T, object []byte, sealed bool) {
		if sealed {
			object = hawk.Sealed(object)
		}
		p, err := hawk.Load(bytes.NewReader(object))
		if err != nil {
			return
		}
		p.Maps()
		p.Prints()
		p.Probes()
		p.Options()
		p.Mechanisms()
	})
}
