// Package tool holds the ready-made tools: scripts of tools/ with a header that is
// their manual. They lie in the binary compressed, one by one, and nothing is unpacked
// or read before a tool is asked for.
package tool

import (
	"cmp"
	"embed"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/pack"
)

//go:generate go test -run TestPacked|TestList . -update

//go:embed packed
var packed embed.FS

// The scripts lie in packedDir as NAME.bt.z, what they import in its lib.
const (
	packedDir = "packed"
	suffix    = ".bt.z"
)

// LibraryDir is where scripts import from: import "tools/lib/net.bt".
const LibraryDir = "tools/lib/"

// Exists reports whether there is a tool of a name.
func Exists(name string) bool {
	if name == "" || strings.ContainsAny(name, "/.") {
		return false
	}
	f, err := packed.Open(packedDir + "/" + name + suffix)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

// Names lists the tools in order of their names.
func Names() []string {
	entries, err := packed.ReadDir(packedDir)
	if err != nil {
		return nil // the directory is part of the binary
	}
	var out []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), suffix); ok {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Find unpacks a tool and reads its header.
func Find(name string) (*Tool, bool) {
	if !Exists(name) {
		return nil, false
	}
	script, err := unpacked(name + suffix)
	if err != nil {
		return nil, false
	}
	return Parse(script), true
}

// All are the tools in the order of their areas, then of their names.
func All() []*Tool {
	var out []*Tool
	for _, name := range Names() {
		if t, ok := Find(name); ok {
			out = append(out, t)
		}
	}
	order.By(out, ByArea)
	return out
}

// ByArea compares two tools in the order of the list: by area, then by name.
func ByArea(a, b *Tool) int {
	return cmp.Or(slices.Index(Areas, a.Area)-slices.Index(Areas, b.Area), cmp.Compare(a.Name, b.Name))
}

// Library is the text of a file that tools import, by the name they import it by.
func Library(name string) (text string, ok bool) {
	base, ok := strings.CutPrefix(name, LibraryDir)
	base, script := strings.CutSuffix(base, ".bt")
	if !ok || !script || strings.Contains(base, "/") {
		return "", false
	}
	text, err := unpacked("lib/" + base + suffix)
	return text, err == nil
}

//go:embed common.txt.z
var commonPacked string

// common are lines that several tools have, those that most have last: common.txt, packed. Where it changes all
// are packed anew.
var common = sync.OnceValue(func() string { return pack.Inflate(commonPacked) })

// unpacked is the text of a packed file.
func unpacked(name string) (string, error) {
	text, err := pack.FileLike(packed, packedDir+"/"+name, common())
	return string(text), err
}

// Whole is the script with what it imports of the library behind it in place of the
// imports, so that it runs by itself. Files of the library import others.
func (t *Tool) Whole() string {
	var b strings.Builder
	var files []string
	add := func(text string) {
		for line := range strings.Lines(text) {
			name, ok := imported(line)
			if _, found := Library(name); !ok || !found {
				b.WriteString(line)
			} else if !slices.Contains(files, name) {
				files = append(files, name)
			}
		}
	}
	add(t.Script)
	for i := 0; i < len(files); i++ {
		b.WriteByte('\n')
		text, _ := Library(files[i])
		add(text)
	}
	return b.String()
}

// imported is what a line of a script imports.
func imported(line string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(line, `import "`)
	name, _, closed := strings.Cut(rest, `"`)
	return name, ok && closed
}

// Lists are the options that have several values.
func (t *Tool) Lists() map[string]bool {
	out := map[string]bool{}
	for i := range t.Options {
		if t.Options[i].List() {
			out[t.Options[i].Name] = true
		}
	}
	for _, o := range t.Operands {
		if o.Rest {
			out[o.Name] = true
		}
	}
	return out
}

// RunsCommand reports whether the operands are a command, with options of its own.
func (t *Tool) RunsCommand() bool {
	return len(t.Operands) > 0 && t.Operands[0].Kind == "command" || t.RunsProgram()
}

// RunsProgram reports whether the operands are a command whose functions are traced.
func (t *Tool) RunsProgram() bool { return len(t.Operands) > 0 && t.Operands[0].Kind == "program" }

// NoFiles is where tools read files from: what lies beside the user changes nothing.
type NoFiles struct{}

// Open finds nothing.
func (NoFiles) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}
