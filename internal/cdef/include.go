package cdef

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hawktrace/hawk/internal/source"
)

// includeText is the rest of a line without comments, as it is written.
// A name in angle brackets is no token: it may hold // and quotes.
func includeText(l *lexer) string {
	l.skip()
	text := l.file.text[l.pos:]
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		text = text[:i]
	}
	return strings.TrimSpace(text)
}

// headerName takes the name out of "name" or <name>.
func headerName(text string) (name string, quoted, ok bool) {
	if len(text) < 3 {
		return "", false, false
	}
	closing := byte('>')
	switch text[0] {
	case '<':
	case '"':
		closing, quoted = '"', true
	default:
		return "", false, false
	}
	end := strings.IndexByte(text[1:], closing)
	if end < 1 || strings.IndexByte(text[:end+1], 0) >= 0 {
		return "", false, false
	}
	return text[1 : end+1], quoted, true
}

// include reads a header, or leaves it to what hawk knows without it.
// A header that is missing is often no loss, see missing.
func (p *preprocessor) include(word token, line []token, text string) {
	name, quoted, ok := headerName(text)
	// #include MACRO: what it stands for is looked at.
	if !ok && len(line) > 0 {
		name, quoted, ok = headerName(join(p.expand(line)))
	}
	if !ok {
		p.errorf("c-include", word, "#%s needs \"FILE\" or <FILE>", word.text)
		return
	}
	next := word.text == "include_next"
	if len(line) > 0 {
		word = line[0]
	}
	p.includeFile(word, name, quoted, next)
}

// includeFile begins to read a header: its tokens come next.
// Headers of the system guard themselves by macros, and so may be included from anywhere
// without being read twice.
func (p *preprocessor) includeFile(at token, name string, quoted, next bool) {
	depth := 0
	for _, in := range p.stack {
		if in.lex != nil {
			depth++
		}
	}
	if depth > maxInclude {
		panic(p.fatal(at, "headers include each other too deeply; does %s include itself?", name))
	}
	f, ok := p.find(name, quoted, next, at.file)
	if !ok {
		p.missing(at, name)
		return
	}
	if p.once[f.src.Name] {
		return
	}
	p.stack = append(p.stack, input{lex: newLexer(f), conds: len(p.conds)})
}

// missing decides what a header that is not there means. What kernel headers
// declare is in the kernel's type information, and the constants of the usual
// headers come with hawk.
func (p *preprocessor) missing(at token, name string) {
	if p.opts.KernelTypes && isKernelHeader(name) {
		p.kernelHeaders = true
		return
	}
	if hasConstants(name) {
		return
	}
	d := p.errorf("c-include", at, "header file '%s' not found", name)
	switch {
	case isKernelHeader(name):
		d.Hint("kernel headers are not installed, and the kernel offers no type information (BTF)")
	default:
		d.Hint("directories with headers are added with -I")
	}
}

// find opens a header. Quoted names are looked for beside the including file
// first. next asks for the one after the file that includes.
// include_next is how the C library's headers reach those of the compiler and of the kernel
// below them.
func (p *preprocessor) find(name string, quoted, next bool, from *file) (*file, bool) {
	if text, ok := ownHeaders[name]; ok {
		return ownFile("<"+name+">", text), true
	}
	if filepath.IsAbs(name) {
		return p.open(name, -1)
	}
	if quoted && from != nil {
		if f, ok := p.open(filepath.Join(from.dir, name), from.search); ok {
			return f, true
		}
	}
	first := 0
	if next && from != nil && from.search >= 0 && filepath.Base(name) == filepath.Base(from.src.Name) {
		first = from.search + 1
	}
	for i, dir := range p.opts.Dirs {
		if i < first {
			continue
		}
		if f, ok := p.open(filepath.Join(dir, name), i); ok {
			return f, true
		}
	}
	if next && name == "limits.h" {
		return ownFile("<limits.h>", ownLimits), true
	}
	return nil, false
}

// ownFile is a header that comes with hawk.
func ownFile(name, text string) *file {
	return &file{src: source.NewFile(name, text), text: text, search: -1}
}

// open reads a file, or yields its text if it was read before: a header may be included a hundred
// times.
// Bytes are counted once for a path, tokens each time that they are read.
func (p *preprocessor) open(path string, search int) (*file, bool) {
	text, ok := p.files[path]
	if !ok {
		var err error
		if text, err = readRegular(p.opts.Files, path); err != nil {
			return nil, false
		}
		if p.bytes += len(text); p.bytes > maxBytes {
			panic(p.fatal(token{}, "the headers of the script are too large: more than %d bytes", maxBytes))
		}
		p.files[path] = text
	}
	return &file{
		src: source.NewFile(path, text), text: text, dir: filepath.Dir(path), search: search,
		kernel: isKernelPath(path),
	}, true
}

var errNoHeader = errors.New("no regular file of a sensible size")

// readRegular reads a file. Anything but a regular file could block or never
// end.
// A pipe in place of a header would stop hawk, which runs as root, for as long as its owner
// likes.
func readRegular(files fs.FS, path string) (string, error) {
	stat, open := os.Stat, func(path string) (fs.File, error) { return os.Open(path) }
	if files != nil {
		path = strings.TrimPrefix(filepath.ToSlash(path), "/")
		stat = func(path string) (fs.FileInfo, error) { return fs.Stat(files, path) }
		open = files.Open
	}
	st, err := stat(path)
	if err != nil {
		return "", err
	}
	if !st.Mode().IsRegular() || st.Size() > maxFile {
		return "", errNoHeader
	}
	f, err := open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	return string(data), err
}

// kernelDirs are the directories of the kernel's include tree.
var kernelDirs = [...]string{
	"linux", "asm", "asm-generic", "uapi", "net", "trace", "scsi", "sound", "rdma", "drm", "media", "misc", "mtd",
	"video", "xen", "crypto", "acpi", "kvm", "ras", "soc", "target", "vdso", "keys", "memory", "pcmcia", "math-emu",
	"fs", "kernel", "mm", "block", "drivers", "generated",
}

// isKernelHeader reports whether a header is named like one of the kernel.
// The names alone decide, since the headers are not there to be asked.
func isKernelHeader(name string) bool {
	name = strings.TrimLeft(name, "./")
	dir, _, ok := strings.Cut(name, "/")
	if !ok {
		return name == "vmlinux.h"
	}
	for _, d := range kernelDirs {
		if d == dir {
			return true
		}
	}
	return false
}

// isKernelPath reports whether a header that was found is one of the kernel,
// of its tree or as exported to programs.
// /usr/include/linux has structs that differ from the running kernel's own, which has the last
// word then.
func isKernelPath(path string) bool {
	return strings.HasPrefix(path, "/lib/modules/") || strings.HasPrefix(path, "/usr/src/linux") ||
		strings.HasPrefix(path, "/usr/include/") &&
			(strings.Contains(path, "/linux/") || strings.Contains(path, "/asm"))
}
