package exe

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/hawktrace/hawk/internal/foreign"
)

// A Library is an entry of the dynamic linker's cache.
type Library struct{ Soname, Path string }

const (
	oldCacheMagic = "ld.so-1.7.0"
	newCacheMagic = "glibc-ld.so.cache1.1"

	oldHeader, oldEntry = 16, 12 // bytes; the magic is padded
	newHeader, newEntry = 48, 24
)

// parseLdCache lists the libraries in /etc/ld.so.cache (glibc's
// elf/cache.c, both formats) that suit a machine, in the order of the cache.
// Malformed parts are left out.
func parseLdCache(data []byte, machine elf.Machine) []Library {
	le := binary.LittleEndian
	if strings.HasPrefix(string(data[:min(len(data), len(oldCacheMagic))]), oldCacheMagic) {
		// The new format may follow the old one, aligned to 8 bytes.
		if len(data) < oldHeader {
			return nil
		}
		n := uint64(le.Uint32(data[12:]))
		next := (oldHeader + n*oldEntry + 7) &^ 7
		if next >= uint64(len(data)) {
			return nil
		}
		data = data[next:]
	}
	if len(data) < newHeader || string(data[:len(newCacheMagic)]) != newCacheMagic {
		return nil
	}
	n := uint64(le.Uint32(data[20:]))
	if newHeader+n*newEntry > uint64(len(data)) {
		return nil
	}
	var out []Library
	for i := range n {
		e := data[newHeader+i*newEntry:]
		if !cacheFlagsFit(le.Uint32(e), machine) || le.Uint64(e[16:]) != 0 {
			continue // another ABI, or a variant for special hardware
		}
		soname, path := cstring(data, uint64(le.Uint32(e[4:]))), cstring(data, uint64(le.Uint32(e[8:])))
		if len(soname) > 0 && len(path) > 0 && path[0] == '/' {
			out = append(out, Library{string(soname), string(path)})
		}
	}
	return out
}

// cacheFlagsFit compares the ABI of an entry (glibc's sysdeps/generic/ldconfig.h).
func cacheFlagsFit(flags uint32, machine elf.Machine) bool {
	if flags&0xff != 3 { // FLAG_ELF_LIBC6
		return false
	}
	switch machine {
	case elf.EM_X86_64:
		return flags>>8 == 3
	case elf.EM_AARCH64:
		return flags>>8 == 0xa
	}
	return flags>>8 == 0
}

// libraryDirs are searched after the cache.
func libraryDirs(machine elf.Machine) []string {
	dirs := []string{"/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"}
	switch machine {
	case elf.EM_X86_64:
		dirs = append([]string{"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu"}, dirs...)
	case elf.EM_AARCH64:
		dirs = append([]string{"/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu"}, dirs...)
	}
	return dirs
}

// sonameFits reports whether a file name is that of a library: "libc" and
// "libc.so" name any version, "libc.so.6" just that one.
func sonameFits(file, name string) bool {
	rest, ok := strings.CutPrefix(file, name)
	if !ok {
		return false
	}
	if strings.Contains(name, ".so") {
		return rest == "" || rest[0] == '.'
	}
	return strings.HasPrefix(rest, ".so") && (len(rest) == 3 || rest[3] == '.')
}

// maxCache bounds the size of a cache: one entry for each library there is.
const maxCache = 64 << 20 // bytes

// findLibrary looks a library up in the cache and the default directories below root, "" if it is
// not there. The error is what first kept hawk from looking.
func findLibrary(root, name string, machine elf.Machine) (found string, err error) {
	unread := func(e error) bool {
		if err == nil && !errors.Is(e, fs.ErrNotExist) {
			err = e
		}
		return e != nil
	}
	usable := func(soname, path string) bool {
		found = below(root, path)
		return sonameFits(soname, name) && !unread(Check(found))
	}
	if data, err := foreign.Read(below(root, "/etc/ld.so.cache"), maxCache); !unread(err) {
		for _, l := range parseLdCache(data, machine) {
			if usable(l.Soname, l.Path) {
				return found, nil
			}
		}
	}
	for _, dir := range libraryDirs(machine) {
		entries, err := os.ReadDir(below(root, dir))
		unread(err)
		for _, e := range entries {
			if usable(e.Name(), dir+"/"+e.Name()) {
				return found, nil
			}
		}
	}
	return "", err
}
