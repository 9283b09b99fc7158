package hawktest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// markPackage is the package of this module that Go programs of cases can import.
const markPackage = "github.com/hawktrace/hawk/usdt"

// library reads the sources of markPackage, by their names, if the compilation is of a program that
// imports it.
func (c *compilation) library() (map[string][]byte, error) {
	imports := false
	for name, content := range c.files {
		imports = imports || filepath.Ext(name) == ".go" && bytes.Contains(content, []byte(`"`+markPackage+`"`))
	}
	if !imports {
		return nil, nil
	}
	root, err := Root()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(root, "usdt")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	sources := map[string][]byte{}
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); ext != ".go" && ext != ".s" || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		if sources[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			return nil, err
		}
	}
	return sources, nil
}

// digest tells the sources of a package from others.
func digest(sources map[string][]byte) string {
	if len(sources) == 0 {
		return ""
	}
	h := sha256.New()
	for _, name := range sortedKeys(sources) {
		fmt.Fprintf(h, "%q %q\n", name, sources[name])
	}
	return fmt.Sprintf("-%x", h.Sum(nil)[:6])
}

// makePath makes a GOPATH with the package in dir. Modules would have to be fetched, and a case
// must not need a network.
func makePath(dir string, sources map[string][]byte) error {
	pkg := filepath.Join(dir, "src", filepath.FromSlash(markPackage))
	if err := os.MkdirAll(pkg, 0o755); err != nil {
		return err
	}
	for name, content := range sources {
		if err := os.WriteFile(filepath.Join(pkg, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
