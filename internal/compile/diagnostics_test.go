package compile

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
)

var update = flag.Bool("update", false, "rewrite what the diagnostics are to be")

// A situation is one about which hawk must say something, in the words of the
// language's specification. It is the name of at least one section in the
// archive of its area.
type situation struct {
	what    string
	warning bool
	hint    bool   // the message has one
	context bool   // the message shows another place, too
	kernel  string // FILE: TEXT, for what only a running kernel brings about: a kernel case and what it wants to read
}

// TestDiagnostics compiles the scripts of testdata/diagnostics and compares
// everything that is said about them, excerpts and markers included. A section
// is named after its situation, options and positional parameters may follow in
// brackets; the section after it is what the author of the script reads.
// Sections named "file NAME" are files beside the script.
//
// Every situation must have its section, so that one that hawk does not know of
// shows.
func TestDiagnostics(t *testing.T) {
	machine, err := filepath.Abs("testdata/machine")
	if err != nil {
		t.Fatal(err)
	}
	for area, list := range situations {
		path, err := filepath.Abs(filepath.Join("testdata", "diagnostics", area+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(area, func(t *testing.T) { compareArea(t, path, machine, list) })
	}
	archives, _ := filepath.Glob("testdata/diagnostics/*.txtar")
	for _, name := range archives {
		if _, ok := situations[strings.TrimSuffix(filepath.Base(name), ".txtar")]; !ok {
			t.Errorf("%s: no such area", name)
		}
	}
}

func compareArea(t *testing.T, path, machine string, list []situation) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	root, _ := filepath.Abs("../..")
	t.Chdir(t.TempDir())
	said := map[string]string{} // by situation, all of its sections
	out := &txtar.Archive{Comment: archive.Comment}
	for i, f := range archive.Files {
		if name, ok := strings.CutPrefix(f.Name, "file "); ok {
			out.Files = append(out.Files, f)
			writeBeside(t, name, f.Data)
			continue
		}
		if f.Name == "want" {
			continue
		}
		name, rest, _ := strings.Cut(f.Name, " [")
		if !slices.ContainsFunc(list, func(s situation) bool { return s.what == name }) {
			t.Errorf("no situation is called %q", name)
		}
		text := compileText(string(f.Data), machine, strings.Fields(strings.TrimSuffix(rest, "]")))
		said[name] += text
		out.Files = append(out.Files, f, txtar.File{Name: "want", Data: []byte(text)})
		want := ""
		if i+1 < len(archive.Files) && archive.Files[i+1].Name == "want" {
			want = string(archive.Files[i+1].Data)
		}
		if diff := cmp.Diff(want, text); diff != "" && !*update {
			t.Errorf("%s: (-want +got)\n%s\n%s", f.Name, f.Data, diff)
		}
	}
	for _, s := range list {
		s.check(t, root, said[s.what])
	}
	if *update {
		if err := os.WriteFile(path, txtar.Format(out), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// check makes sure that a situation is spoken of as it should be.
func (s situation) check(t *testing.T, root, text string) {
	if s.kernel != "" {
		file, want, _ := strings.Cut(s.kernel, ": ")
		data, err := os.ReadFile(filepath.Join(root, "testdata", "script", file))
		if err != nil {
			t.Error(err)
		} else if !strings.Contains(string(data), want) {
			t.Errorf("%s: no %q in kernel case %s", s.what, want, file)
		}
		return
	}
	level := ": ERROR: "
	if s.warning {
		level = "WARNING: "
	}
	switch {
	case !strings.Contains(text, level):
		t.Errorf("%s: hawk says nothing", s.what)
	case s.hint && !strings.Contains(text, "HINT: "):
		t.Errorf("%s: there is no hint", s.what)
	case s.context && strings.Count(text, level) < 2:
		t.Errorf("%s: there is no context", s.what)
	}
}

// writeBeside writes a file for imports; its name says what is special about it.
func writeBeside(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(name, "pipe") {
		if err := unix.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(name, "writable") {
		if err := os.Chmod(name, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// compileText is what the compiler prints about a script.
func compileText(text, recorded string, words []string) string {
	o := Options{Probe: probe.Options{Machine: machine.Recorded(recorded)}}
	for _, w := range words {
		switch w {
		case "--unsafe":
			o.Probe.Unsafe = true
		default:
			o.Params = append(o.Params, w)
		}
	}
	_, ds := Compile(source.NewFile("stdin", text), o)
	var b bytes.Buffer
	ds.Print(&b, source.PrintOptions{})
	return b.String()
}
