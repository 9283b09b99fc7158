package hawk_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/hawktrace/hawk"
)

// A program that was compiled without Take says so, as does one that is portable.
func TestTakeHasToBeAsked(t *testing.T) {
	s := start(t, `begin { @[1] = count(); @n = count(); }`, nil, nil)
	for _, name := range []string{"@", "@n"} {
		m, err := s.Map(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Take(); !errors.Is(err, errors.ErrUnsupported) ||
			!strings.Contains(err.Error(), "CompileOptions.Take") {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.Close()
	m, _ := s.Map("@n")
	if _, err := m.Take(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
	_, err := hawk.Compile(context.Background(), &hawk.Script{Text: `begin { @ = 1 }`},
		&hawk.CompileOptions{Take: true, Portable: true})
	if err == nil {
		t.Error("a portable program with two generations was compiled")
	}
}

// Scripts read, print and delete what was not taken yet.
func TestTakeBeside(t *testing.T) {
	const script = `begin { @h[1] = 5; @h[2] = 6; @n = 7; @c[3] = count(); @c[3] = count(); @s = count(); }
	self:signal:SIGUSR1 {
		print((@h[1], @n, (int64)@c[3], (int64)@s, has_key(@h, 2), len(@h)));
		@h[1] = 50; @n++; @c[3] = count(); @s = count(); delete(@h, 9); print(@c);
	}`
	s := start(t, script, &hawk.CompileOptions{Take: true}, nil)
	taken := func() (out string) {
		for _, name := range []string{"@h", "@n", "@c", "@s"} {
			m, err := s.Map(name)
			if err != nil {
				t.Fatal(err)
			}
			snap, err := m.Take()
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range snap.Entries {
				out += fmt.Sprintf(" %s[%s]=%s", name, e.Key, e.Value)
			}
		}
		return out
	}
	var got []string
	said := make(chan string)
	go func() {
		defer close(said)
		for ev, err := range s.Events() {
			if err == nil && (ev.Kind == hawk.Print || ev.Kind == hawk.MapPrint) {
				said <- string(ev.Text)
			}
		}
	}()
	got = append(got, taken())
	for range 2 {
		s.Signal()
		got = append(got, <-said, <-said)
	}
	got = append(got, taken(), taken())
	s.Stop()
	for range said {
	}
	want := []string{
		" @h[1]=5 @h[2]=6 @n[]=7 @c[3]=2 @s[]=1",
		"(0, 0, 0, 0, false, 0)\n", "@c[3]: 1\n", "(50, 1, 1, 1, false, 1)\n", "@c[3]: 2\n",
		" @h[1]=50 @n[]=2 @c[3]=2 @s[]=2", "",
	}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}
