//go:build !(linux && (amd64 || arm64))

package usdt

import "errors"

// Where there are no marks, no image is made: Load has failed before it comes
// to what is here.

var native *isa

// Tidy removes nothing where there are no marks.
func Tidy() (removed []string, err error) { return nil, errors.ErrUnsupported }

// A mapping stands for the one of systems that have marks.
type mapping struct {
	base uintptr
	path string
}

func (m *mapping) load(*image, *LoadOptions) error { return errors.ErrUnsupported }
func (m *mapping) leave(*image) error              { return errors.ErrUnsupported }

func call2(uintptr, *[maxWords]uint64)  {}
func call6(uintptr, *[maxWords]uint64)  {}
func call12(uintptr, *[maxWords]uint64) {}
