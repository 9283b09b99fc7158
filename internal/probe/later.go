package probe

import (
	"github.com/hawktrace/hawk/internal/proc"
)

// A Later says whether a point stands for marks of files that are mapped while the run lasts.
type Later uint8

// The answers.
const (
	Here      Later = iota // it is a place that is known
	AlsoLater              // its pattern has points that are there already
	OnlyLater              // nothing is there yet
)

// Marks is the table in which programs look up how to read the arguments of marks that came later: an element for each
// list of arguments, numbered from 0. The programs are compiled before anybody knows the lists.
type Marks struct {
	Write func(number uint32, list []byte) error // puts a list into the kernel's map

	numbers map[string]uint32
}

// The map of Marks.
const (
	MarkLists = 128 // lists at most
	MarkArgs  = 12  // arguments of a list
	MarkArg   = 64  // bytes of each; see package user
)

// Number is the number of a list of arguments, written into the table if it is a new one; ok is false if it is full.
func (m *Marks) Number(list []byte) (n uint32, ok bool, err error) {
	if n, ok := m.numbers[string(list)]; ok {
		return n, true, nil
	}
	n = uint32(len(m.numbers))
	if n == MarkLists {
		return 0, false, nil
	}
	if err := m.Write(n, list); err != nil {
		return 0, false, err
	}
	if m.numbers == nil {
		m.numbers = map[string]uint32{}
	}
	m.numbers[string(list)] = n
	return n, true, nil
}

// More is what a mechanism is told about a file that a process has mapped since the programs were attached.
type More struct {
	File  *proc.MappedFile
	Marks *Marks
	Most  int // marks at most
	// Known reports whether an attach point of the script found its marks of the file before.
	Known func(p *Point) bool
	Warn  func(format string, args ...any)
}
