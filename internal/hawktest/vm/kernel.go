// Package vm runs commands on other kernels: Debian's, booted in QEMU under software emulation. A
// machine is ready for its first command after a few seconds. Its root is made of files of the host
// below a file system in memory, so nothing it does is kept.
package vm

import (
	"bytes"
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/hawktest/deb"
)

// A Kernel is one that machines can boot.
type Kernel struct {
	Name  string // as written on the command line: "6.12"
	Arch  string // architecture of the machine, as Go names it
	suite string // release of Debian whose kernel it is
	// cpus is how many processors it makes room for, two of which are there: per-CPU maps, the
	// reading of them and the number of ring buffers go by this number.
	cpus int
}

// Kernels lists the known kernels, oldest first.
var Kernels = []Kernel{
	{"5.10", "amd64", "bullseye", 2},
	{"6.1", "amd64", "bookworm", 64},
	{"6.12", "amd64", "trixie", 64},
	{"sid", "amd64", "sid", 2},
	{"6.1-arm64", "arm64", "bookworm", 2},
	{"6.12-arm64", "arm64", "trixie", 2},
}

// FindKernel returns the kernel with the given name.
func FindKernel(name string) (Kernel, error) {
	var known []string
	for _, k := range Kernels {
		if k.Name == name {
			return k, nil
		}
		known = append(known, k.Name)
	}
	return Kernel{}, fmt.Errorf("no kernel %q; there are %s", name, strings.Join(known, ", "))
}

// bootModules are the modules that a machine needs before it has a root; their dependencies come
// with them.
var bootModules = []string{"virtio_pci", "virtio_blk", "virtio_console", "ext4", "overlay"}

// spareModules are for cases to load and unload: a machine has them, with what they depend on, in
// /hawk/modules, in an order in which they can be loaded.
var spareModules = []string{"null_blk", "kvm_amd"}

// fetch returns the directory of the kernel's unpacked packages.
func (k Kernel) fetch() (string, error) {
	suite, err := deb.OpenFor(k.suite, k.Arch)
	if err != nil {
		return "", err
	}
	return suite.Unpack("linux-image-cloud-"+k.Arch, "linux-image-", "linux-binary-", "linux-modules-")
}

// image finds the bootable file below a kernel's directory.
func image(dir string) (string, error) {
	found, err := filepath.Glob(filepath.Join(dir, "boot", "vmlinuz-*"))
	if err == nil && len(found) == 0 {
		found, err = filepath.Glob(filepath.Join(dir, "usr/lib/modules/*/vmlinuz"))
	}
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("%d kernels below %s, want 1", len(found), dir)
	}
	return found[0], nil
}

// modules returns the contents of modules below a kernel's directory, and of those they depend on,
// in an order in which they can be loaded, each under its name. Modules that are built into the
// kernel have no file and are left out.
func modules(dir string, names []string) ([]file, error) {
	paths := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name, _, ok := strings.Cut(d.Name(), ".ko"); ok && d.Type().IsRegular() {
			paths[strings.ReplaceAll(name, "-", "_")] = path
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var ordered []file
	var add func(name string) error
	add = func(name string) error {
		path, ok := paths[name]
		if !ok || slices.ContainsFunc(ordered, func(f file) bool { return f.name == name }) {
			return nil
		}
		content, err := readModule(path)
		if err != nil {
			return err
		}
		depends, err := dependencies(content)
		if err != nil {
			return fmt.Errorf("module %s: %w", path, err)
		}
		for _, d := range depends {
			if err := add(d); err != nil {
				return err
			}
		}
		ordered = append(ordered, file{name: name, content: content})
		return nil
	}
	for _, name := range names {
		if err := add(name); err != nil {
			return nil, err
		}
	}
	return ordered, nil
}

// readModule reads a module file, which newer kernels compress.
func readModule(path string) ([]byte, error) {
	if !strings.HasSuffix(path, ".xz") {
		return os.ReadFile(path)
	}
	out, err := exec.Command("xz", "--decompress", "--stdout", path).Output()
	if err != nil {
		return nil, fmt.Errorf("decompressing %s: %w", path, err)
	}
	return out, nil
}

// dependencies reads the names of the modules that a module needs from its own description.
func dependencies(module []byte) ([]string, error) {
	f, err := elf.NewFile(bytes.NewReader(module))
	if err != nil {
		return nil, err
	}
	section := f.Section(".modinfo")
	if section == nil {
		return nil, fmt.Errorf("no .modinfo section")
	}
	info, err := section.Data()
	if err != nil {
		return nil, err
	}
	for entry := range bytes.SplitSeq(info, []byte{0}) {
		if list, ok := bytes.CutPrefix(entry, []byte("depends=")); ok && len(list) > 0 {
			return strings.Split(strings.ReplaceAll(string(list), "-", "_"), ","), nil
		}
	}
	return nil, nil
}
