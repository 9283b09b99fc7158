package arch

import (
	_ "embed" // which has the table as a string
	"strings"

	"github.com/hawktrace/hawk/internal/pack"
)

//go:generate go test -run TestPacked . -update

// i386 are i386.txt, packed: the names of the system calls of 32-bit programs in the order of their
// numbers, "-" where there is none.
//
//go:embed packed/i386.txt.z
var i386 string

// CompatNames are the names of the system calls of 32-bit programs, NAME@32, as SyscallNames are of
// others. Of arm64 they are not known.
func CompatNames(goarch string) []string {
	if goarch != "amd64" {
		return nil
	}
	names := strings.Fields(pack.Inflate(i386))
	for i, name := range names {
		if names[i] += "@32"; name == "-" {
			names[i] = ""
		}
	}
	return names
}
