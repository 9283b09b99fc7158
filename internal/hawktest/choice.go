package hawktest

import (
	"fmt"
	"os"
	"slices"
)

// A Choice is what a VM is to show of the cases and of the corpus. All of it on every kernel would
// take hours, and most of it is hawk's own doing, which one kernel shows as well as another.
type Choice struct {
	Name   string // as $HAWK_CHOICE has it
	Doc    string
	takes  func(*Case) (bool, error)
	Corpus Ways
}

// Ways are how often a script of the corpus runs.
type Ways int

const (
	OneWay   Ways = iota // as it was compiled on the host, which is fast; compiled in the VM where that cannot be
	TwoWays              // both
	EveryWay             // also in pieces, and compiled for the oldest kernel
)

// Choices are all there are; the Makefile says which kernel has which.
var Choices = []Choice{
	{"", "all; so for the oldest kernel, which has the fewest ways of doing things and most ways around",
		func(*Case) (bool, error) { return true, nil }, EveryWay},
	{"parts", "what depends on parts of the kernel that some have and others have not; " +
		"what needs no more than privileges shows on the oldest kernel and on the host",
		func(c *Case) (bool, error) { return !c.anyKernel(), nil }, TwoWays},
	{"rest", "what varies by kernel or by architecture, and what the host cannot show: " +
		"for kernels that lie between or next to others that show more",
		func(c *Case) (bool, error) {
			missing, err := c.Missing()
			return c.varies(KernelVaries) || c.varies(ArchVaries) || missing != nil, err
		}, OneWay},
	{"arch", "what varies by architecture; emulated, another one takes half an hour for all",
		func(c *Case) (bool, error) { return c.varies(ArchVaries), nil }, OneWay},
}

// ArchVaries and KernelVaries are what a case can vary by.
const (
	ArchVaries   = "arch"
	KernelVaries = "kernel"
)

// Chosen is the choice that $HAWK_CHOICE names. An unknown name is an error: it would else
// choose nothing, and all would pass.
func Chosen() (Choice, error) {
	name := os.Getenv("HAWK_CHOICE")
	i := slices.IndexFunc(Choices, func(c Choice) bool { return c.Name == name })
	if i < 0 {
		return Choice{}, fmt.Errorf("HAWK_CHOICE: no choice is called %q", name)
	}
	return Choices[i], nil
}

// Of returns the chosen ones of the cases.
func (c Choice) Of(cases []*Case) (chosen []*Case, err error) {
	for _, one := range cases {
		takes, err := c.takes(one)
		if err != nil {
			return nil, err
		}
		if takes {
			chosen = append(chosen, one)
		}
	}
	return chosen, nil
}
