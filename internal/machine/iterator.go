package machine

import (
	"errors"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/btf"
)

// Iterator is the type that programs for an iterator attach to, by the
// iterator's name ("task"). The kernel is asked whether it accepts programs
// for it; the error is btf.ErrNotFound if it does not know it at all.
func (t *Machine) Iterator(object string) (uint32, error) {
	s, err := t.BTF()
	if err != nil {
		return 0, err
	}
	id, err := s.Find("bpf_iter_"+object, btf.Set(btf.Func))
	if err != nil {
		return id, err
	}
	if !t.Live() {
		refused, _ := t.read(refusedIterators)
		if slices.Contains(strings.Fields(string(refused)), object) {
			err = errors.New("the kernel refuses programs for it")
		}
		return id, err
	}
	t.mu.Lock()
	known, ok := t.iterators[id]
	t.mu.Unlock()
	if !ok {
		known = accepted(&bpf.ProgSpec{Type: bpf.Tracing, Attach: bpf.AttachIter, AttachBTFID: id}, bpf.MovImm(0, 0),
			bpf.Exit())
		t.mu.Lock()
		if t.iterators == nil {
			t.iterators = make(map[uint32]error)
		}
		t.iterators[id] = known
		t.mu.Unlock()
	}
	return id, known
}

// IteratorStruct begins the name of the struct that an iterator's program sees.
const IteratorStruct = "bpf_iter__"

// Iterators lists what the kernel can walk, sorted. Types tell of more than
// the kernel accepts programs for.
func (t *Machine) Iterators() ([]string, error) {
	out, err := t.iteratorNames()
	return slices.DeleteFunc(out, func(object string) bool {
		_, err := t.Iterator(object)
		return err != nil
	}), err
}

// iteratorNames lists the iterators that the kernel has types for.
func (t *Machine) iteratorNames() ([]string, error) {
	s, err := t.BTF()
	if err != nil {
		return nil, err
	}
	var out []string
	err = s.Each(btf.Set(btf.Struct), func(_ uint32, _ btf.Kind, name []byte) bool {
		if object, ok := strings.CutPrefix(string(name), IteratorStruct); ok {
			out = append(out, object)
		}
		return true
	})
	slices.Sort(out)
	return slices.Compact(out), err
}
