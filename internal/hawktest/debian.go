package hawktest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hawktrace/hawk/internal/hawktest/deb"
)

// debianSuite is where the packages of cases come from, and debianVersion its number: C libraries
// of later releases run its programs too.
const (
	debianSuite   = "bookworm"
	debianVersion = 12
)

// probeDebian asks for a release: programs run on the C library of any later one, never on an
// older one.
func probeDebian() error {
	if InVM() {
		return errors.New("packages are unpacked on the host only")
	}
	text, err := os.ReadFile("/etc/debian_version")
	if err != nil {
		return err
	}
	major, _, _ := strings.Cut(strings.TrimSpace(string(text)), ".")
	// what has no number is newer than all that have
	if version, err := strconv.Atoi(major); err == nil && version < debianVersion {
		return fmt.Errorf("this is Debian %d", version)
	}
	_, err = deb.Mirror()
	return err
}

func cmdDebian(ts *testscript.TestScript, neg bool, args []string) {
	release := debianSuite
	if len(args) > 0 && strings.HasPrefix(args[0], "-") {
		release, args = args[0][1:], args[1:]
	}
	usage(ts, !neg && len(args) >= 2, "debian [-SUITE] NAME PACKAGE...")
	suite, err := deb.Open(release)
	ts.Check(err)
	root, err := suite.Install(args[1:]...)
	ts.Check(err)
	ts.Setenv(args[0], root)
	if release != debianSuite {
		return // its programs need a C library of its own, and run with the root as theirs
	}
	libraries := ts.MkAbs(".libraries")
	ts.Check(linkLibraries(root, libraries))
	// Only links to what the packages bring stand there: the rest comes from the system, as its
	// loader does.
	ts.Setenv("LD_LIBRARY_PATH", libraries)
}

// ofLibc are the libraries of the C library itself, which has to be the system's since the loader
// is.
var ofLibc = []string{"ld-linux-*", "libBrokenLocale.*", "libanl.*", "libc.*", "libc_malloc_debug.*",
	"libdl.*", "libm.*", "libmemusage.*", "libmvec.*", "libnsl.*",
	"libnss_*", "libpcprofile.*", "libpthread.*", "libresolv.*", "librt.*", "libthread_db.*", "libutil.*"}

// linkLibraries fills a directory with links to the libraries below a root.
func linkLibraries(root, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, dir := range []string{"lib", "usr/lib"} {
		files, err := filepath.Glob(filepath.Join(root, dir, triplets[runtime.GOARCH], "*.so*"))
		if err != nil {
			return err
		}
		for _, file := range files {
			name := filepath.Base(file)
			if slices.ContainsFunc(ofLibc, func(p string) bool { ok, _ := filepath.Match(p, name); return ok }) {
				continue
			}
			if err := os.Symlink(file, filepath.Join(to, name)); err != nil {
				return err
			}
		}
	}
	return nil
}
