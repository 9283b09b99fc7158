package hawktest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"
)

// C programs of the cases are compiled on the host only: what "cc" makes is kept under a key of its arguments and sources, the same in a VM, which
// gets the results and has no compiler.

// compilation is one cc command of a case.
type compilation struct {
	args   []string
	output string            // what -o names
	files  map[string][]byte // the sources and all headers that the case has
}

// newCompilation describes a cc command; read returns the content of one of the case's files.
func newCompilation(args, names []string, read func(name string) ([]byte, error)) (*compilation, error) {
	c := &compilation{args: args, files: map[string][]byte{}}
	for i, arg := range args {
		if strings.ContainsAny(arg, "$/'") {
			return nil, fmt.Errorf("cc %s: arguments must mean the same everywhere", arg)
		}
		if i > 0 && args[i-1] == "-o" {
			c.output = arg
		}
	}
	if c.output == "" {
		return nil, errors.New("cc: -o is missing")
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

// key identifies what the command makes.
func (c *compilation) key() string {
	h := sha256.New()
	fmt.Fprintf(h, "%q\n", c.args)
	for _, name := range sortedKeys(c.files) {
		fmt.Fprintf(h, "%q %q\n", name, c.files[name])
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:12])
}

// build returns the compiled file, compiling it unless the cache has it.
func (c *compilation) build() (string, error) {
	if InVM() {
		path := filepath.Join(os.Getenv("HAWK_CC"), c.key())
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("cc %s was not compiled on the host: %w", strings.Join(c.args, " "), err)
		}
		return path, nil
	}
	version, err := exec.Command("cc", "-dumpfullversion", "-dumpmachine").Output()
	if err != nil {
		return "", fmt.Errorf("asking the C compiler for its version: %w", err)
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	cache := filepath.Join(base, "hawk", "cc", strings.Join(strings.Fields(string(version)), "-"))
	final := filepath.Join(cache, c.key())
	if _, err := os.Stat(final); err == nil {
		return final, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
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
	cmd := exec.Command("cc", c.args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cc %s: %w\n%s", strings.Join(c.args, " "), err, out)
	}
	return final, os.Rename(filepath.Join(dir, c.output), final)
}

func cmdCC(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg, "cc ARG...")
	entries, err := os.ReadDir(ts.MkAbs("."))
	ts.Check(err)
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	c, err := newCompilation(args, names, func(name string) ([]byte, error) { return os.ReadFile(ts.MkAbs(name)) })
	ts.Check(err)
	built, err := c.build()
	ts.Check(err)
	content, err := os.ReadFile(built)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(c.output), content, 0o755))
}

// buildFixtures compiles what the cc commands of a case make and copies it to dir, each file under its key.
func buildFixtures(c *Case, dir string) error {
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
		for len(words) > 0 && strings.HasPrefix(words[0], "[") {
			words = words[1:]
		}
		if len(words) == 0 || words[0] != "cc" {
			continue
		}
		comp, err := newCompilation(words[1:], sortedKeys(files), func(name string) ([]byte, error) { return files[name], nil })
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		built, err := comp.build()
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
