//go:build !min

package cdef

import _ "embed"

//go:generate go test -run TestPacked . -update

//go:embed tables/constants.txt
var constantsText string

// constants are the names that scripts use from headers of the kernel and the
// C library, sorted, a name and its value in a line. NAME@ARCH has a value on
// one architecture only. They are searched as text, since hardly a run of hawk
// needs more than a few.
func constants() string { return constantsText }
