package session

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/hawktrace/hawk/internal/compile"
	"github.com/hawktrace/hawk/internal/load"
	"github.com/hawktrace/hawk/internal/proc"
	"github.com/hawktrace/hawk/internal/symbolize"
	"github.com/hawktrace/hawk/internal/unwind"
)

// TestLearn forgets the addresses that were learned first.
func TestLearn(t *testing.T) {
	h := hosts{known: map[string]string{"10.0.0.1": "file"}}
	h.Learn("10.0.0.1", "answer")
	for i := range maxHosts {
		h.Learn(fmt.Sprint("a", i), fmt.Sprint("name", i))
	}
	h.Learn("a5", "again")
	h.Learn("last", "one")
	for addr, want := range map[string]string{"10.0.0.1": "file", "a0": "", "a1": "name1", "a5": "again",
		"a9999": "name9999", "last": "one", "nothing": ""} {
		if got, ok := h.Hostname(addr); got != want || ok != (want != "") {
			t.Errorf("%s is %q, want %q", addr, got, want)
		}
	}
	if len(h.learned) != maxHosts || len(h.order) != maxHosts {
		t.Errorf("%d names in %d places, at most %d", len(h.learned), len(h.order), maxHosts)
	}
}

// TestReaderHosts has who reads maps beside the run name addresses as the run has learned them.
func TestReaderHosts(t *testing.T) {
	s := &Session{loaded: &load.Session{}, spec: Spec{Program: &Program{Result: &compile.Result{}}}}
	s.reader.of = s
	run := &session{owner: s, hosts: &s.hosts}
	run.Learn("192.0.2.1", "learned")
	err := s.reader.with(func(own *session) error {
		if name, _ := own.Hostname("192.0.2.1"); name != "learned" {
			t.Errorf("the address is called %q", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestReaderTables has who reads maps beside the run know what the run knows of code.
func TestReaderTables(t *testing.T) {
	maps, err := proc.Maps(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(maps, func(m proc.Mapping) bool { return m.Path == "[vdso]" })
	if i < 0 {
		t.Skip("there is no vDSO")
	}
	var y symbols
	defer y.close()
	y.user.Store(symbolize.NewUser())
	reader := &session{symbols: &y}
	if keeps, _ := reader.codeAt(os.Getpid(), maps[i].Start+64, false); keeps {
		t.Error("something is known of code before the run")
	}
	y.run.Store(&session{unwind: unwind.New(unwind.Maps{Spaces: -1, Chunks: -1, Asked: -1, Files: -1})})
	if keeps, _ := reader.codeAt(os.Getpid(), maps[i].Start+64, false); !keeps {
		t.Error("nothing is known of the code of the vDSO")
	}
}
