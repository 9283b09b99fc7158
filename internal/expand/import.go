package expand

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/spell"
	"github.com/hawktrace/hawk/internal/stdlib"
	"github.com/hawktrace/hawk/internal/syntax"
)

// Bounds on what is imported.
// They are far above any library of scripts, and keep a cycle of generated files from filling
// memory.
const (
	maxImports    = 1000
	maxImportSize = 16 << 20 // bytes of one file
)

// An importer reads the files that a script imports, each once.
// It lives while imports are read.
type importer struct {
	*expander
	from files
	root string          // directory of the script
	dirs []string        // given by the user
	seen map[string]bool // by path without symbolic links
	// library is that of Options.
	library func(name string) (text string, ok bool)
}

// imports collects the script and its imports in e.files and joins them to the
// tree that the rest of the compiler sees.
func (e *expander) imports(s *syntax.Script, o Options) {
	if !slices.ContainsFunc(s.Items, func(i syntax.Item) bool { _, ok := i.(*syntax.Import); return ok }) {
		e.files, e.out.Tree = []*syntax.Script{s}, s
		return
	}
	f := s.Span().File
	im := &importer{
		expander: e, dirs: o.IncludeDirs, seen: map[string]bool{}, root: filepath.Dir(f.Where()), library: o.Library,
	}
	if im.from = (given{o.Files}); o.Files == nil {
		im.from = trusted(f.Where(), o.Caller)
	}
	if path, err := im.from.real(f.Where()); err == nil {
		im.seen[path] = true // a script that an import imports again
	}
	im.file(s)
	e.join()
}

// join makes one tree of all files. Its text is that of the script.
// define calls it again, when files have been parsed anew.
func (e *expander) join() {
	root := e.files[len(e.files)-1]
	if len(e.files) == 1 {
		e.out.Tree = root
		return
	}
	all := &syntax.Script{Pos: root.Pos, Shebang: root.Shebang, Comments: root.Comments}
	for _, f := range e.files {
		for _, item := range f.Items {
			if _, isConfig := item.(*syntax.Config); !isConfig || f == root {
				all.Items = append(all.Items, item)
			}
		}
	}
	e.out.Tree = all
}

// file adds a file behind what it imports. So its begin and end probes run behind those of what it
// imports.
func (im *importer) file(tree *syntax.Script) {
	for _, item := range tree.Items {
		if i, ok := item.(*syntax.Import); ok {
			im.one(i)
		}
	}
	im.files = append(im.files, tree)
}

// one reads what an import names.
// Files of a directory come in the order of their names.
func (im *importer) one(i *syntax.Import) {
	name := i.Path.Value
	path, found := im.find(i, name)
	if !found {
		return
	}
	if path == "" { // a package of the library, or of the tools'
		return
	}
	info, err := im.from.stat(path)
	switch {
	case err != nil:
		im.unreadable(i, err)
	case !info.IsDir():
		im.add(i, path, name, true)
	default:
		entries, err := im.from.readDir(path)
		if err != nil {
			im.unreadable(i, err)
			return
		}
		for _, entry := range entries {
			if !entry.IsDir() {
				im.add(i, filepath.Join(path, entry.Name()), filepath.Join(name, entry.Name()), false)
			}
		}
	}
}

// find is the place of a name: beside the importing file, in the directories
// given by the user, beside the script. Failing that it may be a package of the
// library or what ready-made tools share, whose path is "".
func (im *importer) find(i *syntax.Import, name string) (path string, ok bool) {
	dirs := append([]string{filepath.Dir(i.Span().File.Where())}, im.dirs...)
	dirs = append(dirs, im.root)
	if filepath.IsAbs(name) {
		dirs = []string{""}
	}
	var tried []string
	unsafe := false
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		if slices.Contains(tried, path) {
			continue
		}
		tried = append(tried, path)
		if _, err := im.from.stat(path); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			continue
		}
		if why := im.from.doubts(path); why != "" {
			im.ds.Warnf("import-skipped", i.Path.Span(), "%s is skipped: %s", path, why)
			unsafe = true
			continue
		}
		return path, true
	}
	pkg := strings.TrimSuffix(strings.TrimPrefix(name, "stdlib/"), ".bt")
	if _, ok := stdlib.Open(pkg); ok {
		im.loadPackage(pkg)
		return "", true
	}
	if im.library != nil {
		if text, ok := im.library(name); ok {
			if !im.seen[name] {
				im.seen[name] = true
				file := source.NewFile(name, text)
				file.Unwarned = true
				im.text(i, file)
			}
			return "", true
		}
	}
	im.out.Incomplete = true
	if unsafe {
		im.ds.Errorf("import-unsafe", i.Path.Span(), "Refusing to import \"%s\": others could change it", name).
			Hint("it, and all directories above it, must belong to root or to you, and nobody else may write to " +
				"them (chmod go-w)")
		return "", false
	}
	d := im.ds.Errorf("import-not-found", i.Path.Span(), "Can not find \"%s\" to import", name)
	d.Hint("looked for %s, and among the packages of the library", strings.Join(tried, ", "))
	if near := spell.Nearest(pkg, stdlib.Names()); near != "" {
		d.Hint("did you mean \"stdlib/%s\"?", near)
	} else if near := im.nearFile(tried[0]); near != "" {
		d.Hint("did you mean \"%s\"?", filepath.Join(filepath.Dir(name), near))
	}
	return "", false
}

// nearFile is the name of a file that is like one that does not exist.
// Names alone are looked at, not whether the file could be imported.
func (im *importer) nearFile(path string) string {
	entries, err := im.from.readDir(filepath.Dir(path))
	if err != nil {
		return ""
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return spell.Nearest(filepath.Base(path), names)
}

const importable = "scripts (.bt), headers (.h) and directories of them can be imported"

// add reads one file. Files of a directory that cannot be imported are left
// out; one that was named is an error.
func (im *importer) add(i *syntax.Import, path, name string, named bool) {
	refuse := func(code source.Code, format string, args ...any) {
		if named {
			im.ds.Errorf(code, i.Path.Span(), format, args...).Hint("%s", importable)
			im.out.Incomplete = true
		}
	}
	switch {
	case strings.HasSuffix(path, ".bpf.c"):
		refuse("import-unsupported", "C programs can not be imported: hawk has no C compiler")
		return
	case strings.HasSuffix(path, ".bpf.o"):
		refuse("import-unsupported", "Object files can not be imported by this version of hawk")
		return
	case !strings.HasSuffix(path, ".bt") && !strings.HasSuffix(path, ".h"):
		refuse("import-extension", "Can not import \"%s\": its name says that it is no script", name)
		return
	}
	if why := im.from.doubts(path); why != "" {
		im.ds.Warnf("import-skipped", i.Path.Span(), "%s is skipped: %s", path, why)
		return
	}
	// By its one name a file that several links lead to is read once.
	real, err := im.from.real(path)
	if err != nil {
		im.unreadable(i, err)
		return
	}
	if im.seen[real] {
		return
	}
	if len(im.seen) >= maxImports {
		im.ds.Errorf("import-limit", i.Path.Span(), "More than %d files are imported", maxImports)
		return
	}
	im.seen[real] = true
	// A header stands for the line that includes it; cdef reads it with the C text of the script.
	if strings.HasSuffix(path, ".h") {
		im.files = append(im.files, &syntax.Script{Pos: i.Pos, Items: []syntax.Item{
			&syntax.CDef{Pos: i.Pos, Text: fmt.Sprintf("#include %q", real)},
		}})
		return
	}
	text, err := im.readRegular(real)
	if err != nil {
		im.unreadable(i, err)
		return
	}
	f := source.NewFile(name, text)
	f.Path = real
	im.text(i, f)
}

// text adds what is written in the language.
// Mistakes are reported at their place in the imported file, with the import that led there.
func (im *importer) text(i *syntax.Import, f *source.File) {
	f.Import = i.Span()
	tree, ds := syntax.Parse(f)
	im.ds.Merge(ds)
	im.out.Incomplete = im.out.Incomplete || ds.HasErrors()
	for _, item := range tree.Items {
		if c, ok := item.(*syntax.Config); ok {
			im.ds.Errorf("import-config", c.Span(), "An imported file can not have a config block")
		}
	}
	im.file(tree)
}

// unreadable reports a file that is there and cannot be read.
// The reason is in the words of the system.
func (im *importer) unreadable(i *syntax.Import, err error) {
	im.ds.Errorf("import-unreadable", i.Path.Span(), "Can not import \"%s\": %s", i.Path.Value, errno.Reason(err)).
		Hint("what is imported must be a regular file of at most %d bytes that hawk may read", maxImportSize)
	im.out.Incomplete = true
}

// readRegular reads a regular file, which nobody else can have changed or replaced since
// it was looked at.
func (im *importer) readRegular(path string) (string, error) {
	f, why, err := im.from.open(path)
	if err != nil {
		return "", err
	}
	if why != "" {
		return "", errors.New(why)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("it is not a regular file")
	}
	// The size that Stat tells may have changed, and is 0 of files in /proc.
	text, err := io.ReadAll(io.LimitReader(f, maxImportSize+1))
	if err != nil {
		return "", err
	}
	if len(text) > maxImportSize {
		return "", fmt.Errorf("it is larger than %d bytes", maxImportSize)
	}
	return string(text), nil
}
