package machine

import (
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
	if err != nil || !t.Live() {
		return id, err
	}
	t.mu.Lock()
	known, ok := t.iterators[id]
	t.mu.Unlock()
	if !ok {
		known = accepted(&bpf.ProgSpec{Type: bpf.Tracing, Attach: bpf.AttachIter, AttachBTFID: id}, bpf.MovImm(0, 0), bpf.Exit())
		t.mu.Lock()
		if t.iterators == nil {
			t.iterators = make(map[uint32]error)
		}
		t.iterators[id] = known
		t.mu.Unlock()
	}
	return id, known
}
