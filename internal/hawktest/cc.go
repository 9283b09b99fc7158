package hawktest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/hawktest/deb"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"
)

// Programs of the cases are compiled on the host only: what a compiler's command makes is kept
// under a key of its arguments and sources, the same in a VM, which gets the results and has no
// compiler.

// A compiler is one that cases can use, by a command of its name.
type compiler struct {
	program []string // and the arguments that precede the case's
	// what follows the triplet in the program's name for another architecture; "": the environment
	// tells it
	cross   string
	native  bool     // it compiles for this machine's architecture alone
	version []string // arguments that make it print what tells its results from another's
}

var compilers = map[string]compiler{
	// Every version refuses what gcc 14 refuses.
	"cc": {
		program: []string{"cc", "-Werror=implicit-function-declaration", "-Werror=implicit-int",
			"-Werror=int-conversion"},
		cross: "gcc", version: []string{"-dumpfullversion"},
	},
	"c++": {program: []string{"c++"}, cross: "g++", version: []string{"-dumpfullversion"}},
	// its library comes for one architecture
	"rustc": {program: []string{"rustc"}, native: true, version: []string{"--version"}},
	"go":    {program: []string{"go", "build", "-trimpath"}, version: []string{"env", "GOVERSION"}},
}

// command is the compiler, for programs of an architecture, with arguments.
func (c compiler) command(arch string, args ...string) (*exec.Cmd, error) {
	name := c.program[0]
	// Go needs no other program for another architecture, GOARCH is enough.
	if arch != runtime.GOARCH && c.cross != "" {
		headers, err := sdtHeaders(arch)
		if err != nil {
			return nil, err
		}
		name, args = triplets[arch]+"-"+c.cross, append(args, "-idirafter", headers)
	}
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GO111MODULE=off", "GOFLAGS=", "GOARCH="+arch)
	return cmd, nil
}

// compilesFor reports whether a compiler makes programs for an architecture. What is no compiler's
// name does not stand in the way.
func compilesFor(name, arch string) bool { return !compilers[name].native || arch == runtime.GOARCH }

// sdtHeaders is the directory of <sys/sdt.h> for another architecture, which Debian's cross
// compilers come without.
func sdtHeaders(arch string) (string, error) {
	suite, err := deb.OpenFor(debianSuite, arch)
	if err != nil {
		return "", err
	}
	root, err := suite.Unpack("systemtap-sdt-dev")
	if err != nil {
		return "", err
	}
	found, err := filepath.Glob(filepath.Join(root, "usr/include", "*-linux-gnu"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("%d directories of headers in systemtap-sdt-dev for %s", len(found), arch)
	}
	return found[0], nil
}

// compilation is one command of a case that compiles.
type compilation struct {
	tool   string
	args   []string
	output string            // what -o names
	files  map[string][]byte // the sources and all headers that the case has
}

// newCompilation describes a command; read returns the content of one of the case's files.
// Headers count although no argument names them: a change of one changes what is made. That of a
// library of the system does not.
func newCompilation(tool string, args, names []string, read func(name string) ([]byte, error)) (*compilation, error) {
	c := &compilation{tool: tool, args: args, files: map[string][]byte{}}
	for i, arg := range args {
		if strings.ContainsAny(arg, "$/'") {
			return nil, fmt.Errorf("%s %s: arguments must mean the same everywhere", tool, arg)
		}
		if i > 0 && args[i-1] == "-o" {
			c.output = arg
		}
	}
	if c.output == "" {
		return nil, errors.New(tool + ": -o is missing")
	}
	for _, name := range names {
		if filepath.Ext(name) == ".h" || slices.Contains(args, name) && name != c.output {
			content, err := read(name)
			if err != nil {
				return nil, err
			}
			c.files[name] = content
		}
	}
	return c, nil
}

// key identifies what the command makes. 12 bytes are enough for the few hundred programs that
// there are.
func (c *compilation) key() string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %q\n", c.tool, c.args)
	for _, name := range sortedKeys(c.files) {
		fmt.Fprintf(h, "%q %q\n", name, c.files[name])
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:12])
}

// build returns the file compiled for an architecture, compiling it unless the cache has it.
func (c *compilation) build(arch string) (string, error) {
	// There is no compiler there, and the key is enough to find what the host has made.
	if InVM() {
		path := filepath.Join(os.Getenv("HAWK_CC"), c.key())
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("%s %s was not compiled on the host: %w", c.tool, strings.Join(c.args, " "), err)
		}
		return path, nil
	}
	tool := compilers[c.tool]
	ask, err := tool.command(arch, tool.version...)
	if err != nil {
		return "", err
	}
	version, err := ask.Output()
	if err != nil {
		return "", fmt.Errorf("asking %s for its version: %w", c.tool, err)
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	cache := filepath.Join(base, "hawk", "cc", strings.Join(append(strings.Fields(string(version)), arch), "-"))
	library, err := c.library()
	if err != nil {
		return "", err
	}
	// The package of this module is in the name on the host alone: a VM has one state of it.
	final := filepath.Join(cache, c.key()+digest(library))
	if _, err := os.Stat(final); err == nil {
		return final, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	// The directory is in the cache, so that the rename at the end stays within one file system.
	// Two tests that compile the same at once do not meet.
	dir, err := os.MkdirTemp(cache, "build")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	for name, content := range c.files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return "", err
		}
	}
	cmd, err := tool.command(arch, slices.Concat(tool.program[1:], c.args)...)
	if err != nil {
		return "", err
	}
	cmd.Dir = dir
	if library != nil {
		path := filepath.Join(dir, "gopath")
		if err := makePath(path, library); err != nil {
			return "", err
		}
		cmd.Env = append(cmd.Env, "GOPATH="+path)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", c.tool, strings.Join(c.args, " "), err, out)
	}
	return final, os.Rename(filepath.Join(dir, c.output), final)
}

func cmdCompile(tool string) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		usage(ts, !neg, tool+" ARG...")
		compileFor(ts, tool, args)
	}
}

// compileFor compiles a program of a case. Sources that cases share are copied to where it runs.
func compileFor(ts *testscript.TestScript, tool string, args []string) {
	entries, err := os.ReadDir(ts.MkAbs("."))
	ts.Check(err)
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	shared := ts.Getenv(sharedEnv)
	for _, arg := range args {
		if isShared(shared, arg) && !slices.Contains(names, arg) {
			content, err := os.ReadFile(filepath.Join(shared, arg))
			ts.Check(err)
			ts.Check(os.WriteFile(ts.MkAbs(arg), content, 0o644))
			names = append(names, arg)
		}
	}
	c, err := newCompilation(tool, args, names,
		func(name string) ([]byte, error) { return os.ReadFile(ts.MkAbs(name)) })
	ts.Check(err)
	built, err := c.build(runtime.GOARCH)
	ts.Check(err)
	content, err := os.ReadFile(built)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(c.output), content, 0o755))
}

// sharedEnv names the directory of the cases, where sources lie that several compile.
const sharedEnv = "SHARED"

// isShared reports whether an argument of a compiler is a source beside the cases.
func isShared(dir, arg string) bool {
	if filepath.Ext(arg) != ".c" || filepath.Base(arg) != arg {
		return false
	}
	_, err := os.Stat(filepath.Join(dir, arg))
	return err == nil
}

// buildFixtures compiles what the compilers' commands of a case make for an architecture and copies
// it to dir, each file under its key. It reads the case as text: conditions in front of a
// command are passed over, so that whatever a VM may come to is there, but for those that name
// another architecture.
func buildFixtures(c *Case, arch, dir string) error {
	if slices.Contains(c.Needs, "amd64") && arch != "amd64" ||
		slices.ContainsFunc(c.Needs, func(word string) bool { return !compilesFor(word, arch) }) {
		return nil
	}
	archive, err := txtar.ParseFile(c.Path)
	if err != nil {
		return err
	}
	files := map[string][]byte{}
	for _, f := range archive.Files {
		files[f.Name] = f.Data
	}
	for line := range strings.Lines(string(archive.Comment)) {
		words := strings.Fields(line)
		if len(words) > 1 && words[0] == "[!native]" && words[1] == "stop" {
			break // no VM comes to what follows
		}
		elsewhere := false
		for len(words) > 0 && strings.HasPrefix(words[0], "[") {
			other := strings.Trim(words[0], "[]")
			elsewhere = elsewhere || triplets[other] != "" && other != arch
			words = words[1:]
		}
		if len(words) == 0 || elsewhere || compilers[words[0]].program == nil {
			continue
		}
		for _, word := range words[1:] {
			if _, own := files[word]; !own && isShared(filepath.Dir(c.Path), word) {
				if files[word], err = os.ReadFile(filepath.Join(filepath.Dir(c.Path), word)); err != nil {
					return err
				}
			}
		}
		comp, err := newCompilation(words[0], words[1:], sortedKeys(files),
			func(name string) ([]byte, error) { return files[name], nil })
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		built, err := comp.build(arch)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		content, err := os.ReadFile(built)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, comp.key()), content, 0o755); err != nil {
			return err
		}
	}
	return nil
}
