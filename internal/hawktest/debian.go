package hawktest

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hawktrace/hawk/internal/hawktest/deb"
)

// debianSuite is where the packages of cases come from. Their programs run with the system's loader and the C library that comes with them, which have to
// be of one release.
const debianSuite = "bookworm"

func probeDebian() error {
	if InVM() {
		return errors.New("packages are unpacked on the host only")
	}
	version, err := os.ReadFile("/etc/debian_version")
	if err != nil {
		return err
	}
	if !strings.HasPrefix(string(version), "12.") {
		return fmt.Errorf("this is Debian %s", strings.TrimSpace(string(version)))
	}
	return nil
}

func cmdDebian(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) >= 2, "debian NAME PACKAGE...")
	suite, err := deb.Open(debianSuite)
	ts.Check(err)
	root, err := suite.Install(args[1:]...)
	ts.Check(err)
	ts.Setenv(args[0], root)
	const machine = "/x86_64-linux-gnu"
	ts.Setenv("LD_LIBRARY_PATH", root+"/lib"+machine+":"+root+"/usr/lib"+machine)
}
