package machine

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/btf"
)

// KfuncID is the type of a function in the kernel's type information, by
// which programs call it. Whether the kernel lets them is another matter.
func (t *Machine) KfuncID(name string) (uint32, error) {
	if t.ledger != nil {
		return 0, fmt.Errorf("%s: %w", name, errNoKfuncs)
	}
	s, err := t.BTF()
	if err != nil {
		return 0, err
	}
	return s.Find(name, btf.Set(btf.Func))
}

// HasKfunc reports whether the kernel's type information has a function.
func (t *Machine) HasKfunc(name string) error {
	_, err := t.KfuncID(name)
	return err
}

// A KfuncDenied says that programs of a type may not call a kernel function.
type KfuncDenied struct {
	Name string
	Err  error // what the kernel said
}

// Error leaves out the verifier's words, which are about the program that was tried.
func (e *KfuncDenied) Error() string {
	return fmt.Sprintf("the kernel does not let this kind of probe call %s", e.Name)
}

func (e *KfuncDenied) Unwrap() error { return e.Err }

// MayCall tries to load a program, of which spec says the type and what it
// attaches to, that calls a kernel function. The arguments may well be
// refused; only the verifier's words on the function itself count. A recorded kernel is
// taken to let it.
func (t *Machine) MayCall(name string, spec bpf.ProgSpec) error {
	id, err := t.KfuncID(name)
	if err != nil || !t.Live() { // a recording cannot be asked
		return err
	}
	spec.LogLevel, spec.Log = 1, make([]byte, 8<<10)
	err = accepted(&spec, bpf.MovImm(1, 0), bpf.MovImm(2, 0), bpf.MovImm(3, 0), bpf.MovImm(4, 0), bpf.MovImm(5, 0),
		bpf.CallKfunc(id), bpf.MovImm(0, 0), bpf.Exit())
	if err == nil {
		return nil
	}
	log := unix.ByteSliceToString(spec.Log)
	if log == "" || errors.Is(err, unix.EPERM) || strings.Contains(log, "is not allowed") ||
		strings.Contains(log, "not found in kernel") ||
		strings.Contains(log, "not supported") || strings.Contains(log, "reserved fields") ||
		strings.Contains(log, "must be sleepable") {
		return &KfuncDenied{name, err}
	}
	return nil
}
