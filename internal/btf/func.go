package btf

import (
	"encoding/binary"
	"fmt"
	"runtime"

	"github.com/hawktrace/hawk/internal/types"
)

// FuncProto returns the prototype of a kernel function.
func (s *Spec) FuncProto(name string) (*types.Func, error) {
	id, err := s.Find(name, Set(Func))
	if err != nil {
		return nil, err
	}
	return s.FuncByID(id)
}

// FuncByID returns the prototype of the function with that ID, which may
// come from Each.
func (s *Spec) FuncByID(id uint32) (*types.Func, error) {
	defer runtime.KeepAlive(s)
	r, err := s.record(id)
	if err != nil {
		return nil, err
	}
	if r.kind != Func {
		return nil, fmt.Errorf("BTF of %s: type %d is no function", s.Name, id)
	}
	f, err := s.proto(r.arg)
	if err != nil {
		return nil, err
	}
	f.Name, f.BTFID, f.Module = string(s.str(r.name)), id, s.owner(id).Name
	return f, nil
}

// proto converts the prototype of a function.
func (s *Spec) proto(id uint32) (*types.Func, error) {
	r, err := s.record(id)
	if err != nil {
		return nil, err
	}
	if r.kind != FuncProto {
		return nil, fmt.Errorf("BTF of %s: type %d is no function prototype", s.Name, id)
	}
	f := &types.Func{}
	if f.Result, err = s.Type(r.arg); err != nil {
		return nil, err
	}
	for b := r.tail; len(b) >= 8; b = b[8:] {
		name, typ := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
		if name == 0 && typ == 0 {
			f.More = true // always last
			break
		}
		t, err := s.Type(typ)
		if err != nil {
			return nil, err
		}
		f.Params = append(f.Params, types.Param{Name: string(s.str(name)), Type: t})
	}
	return f, nil
}

// EachTaking calls f with the name of every function of s, not of its base, whose parameter n
// is a pointer to a struct of that name; fn is only valid during the call.
func (s *Spec) EachTaking(n int, name string, f func(fn []byte)) error {
	defer runtime.KeepAlive(s)
	takes := map[uint32]bool{} // by the prototype's ID, of which functions have few
	return s.walk(func(_ uint32, r *record) bool {
		if r.kind != Func || r.name == 0 {
			return true
		}
		fn, proto := r.name, r.arg
		yes, known := takes[proto]
		if !known {
			yes = s.takes(proto, n, name)
			takes[proto] = yes
		}
		if yes {
			f(s.str(fn))
		}
		return true
	})
}

// takes reports whether parameter n of a prototype is a pointer to a struct of that name, and in
// register n: those in front of it take one register each.
func (s *Spec) takes(proto uint32, n int, name string) bool {
	f, err := s.record(proto)
	if err != nil || f.kind != FuncProto || len(f.tail) < 8*n+8 {
		return false
	}
	var r record
	for i := range n + 1 {
		r, err = s.bare(binary.LittleEndian.Uint32(f.tail[8*i+4:]))
		if wide := r.kind == Struct || r.kind == Union || r.kind == Int; err != nil || wide && r.arg > 8 {
			return false
		}
	}
	if r.kind != Ptr {
		return false
	}
	r, err = s.bare(r.arg)
	return err == nil && (r.kind == Struct || r.kind == Fwd) && string(s.str(r.name)) == name
}

// The prefixes of the functions and typedefs that each tracepoint has
// (include/linux/tracepoint.h, include/trace/bpf_probe.h).
const (
	probeStub  = "__probestub_"
	traceIter  = "__traceiter_"
	typedefBTF = "btf_trace_"
)

// RawTracepoint returns the parameters of a tracepoint as its program sees
// them (without the leading void * of the kernel's internal prototype) and
// the ID of the typedef that a typed raw tracepoint program attaches to.
func (s *Spec) RawTracepoint(event string) (*types.Func, uint32, error) {
	defer runtime.KeepAlive(s)
	typedef, err := s.Find(typedefBTF+event, Set(Typedef))
	if err != nil {
		return nil, 0, err
	}
	var f *types.Func
	if id, ok := s.tracepointFunc(event); ok {
		f, err = s.FuncByID(id)
	} else {
		// No function: the prototype the typedef points to lacks only names.
		f, err = s.typedefProto(typedef)
	}
	if err != nil {
		return nil, 0, err
	}
	// The first parameter is the kernel's own, the data of the probe.
	if len(f.Params) > 0 {
		f.Params = f.Params[1:]
	}
	for i := range f.Params {
		if f.Params[i].Name == "" {
			f.Params[i].Name = fmt.Sprintf("arg%d", i)
		}
	}
	f.Name, f.BTFID, f.Module = event, typedef, s.owner(typedef).Name
	return f, typedef, nil
}

// tracepointFunc is a function with the parameters of a tracepoint, behind a
// void * of its own.
func (s *Spec) tracepointFunc(event string) (id uint32, ok bool) {
	for _, prefix := range [...]string{probeStub, traceIter} {
		if id, err := s.Find(prefix+event, Set(Func)); err == nil {
			return id, true
		}
	}
	return 0, false
}

// RawTracepointDecls returns the parameters of a tracepoint in C text, nil if
// they are not known.
func (s *Spec) RawTracepointDecls(event string) ([]Decl, error) {
	defer runtime.KeepAlive(s)
	id, ok := s.tracepointFunc(event)
	if !ok {
		return nil, nil
	}
	params, _, err := s.Signature(id)
	if err != nil || len(params) == 0 {
		return nil, err
	}
	return params[1:], nil
}

// owner is the spec, of s and its base, that has a type.
func (s *Spec) owner(id uint32) *Spec {
	for s.base != nil && id < s.firstID {
		s = s.base
	}
	return s
}

// RawTracepointID is the type that a program on a typed raw tracepoint
// attaches to, and the module that has it.
func (s *Spec) RawTracepointID(event string) (id uint32, module string, err error) {
	defer runtime.KeepAlive(s)
	if id, err = s.Find(typedefBTF+event, Set(Typedef)); err != nil {
		return 0, "", err
	}
	return id, s.owner(id).Name, nil
}

// ExpectRawTracepoint is Expect for RawTracepointID.
func (s *Spec) ExpectRawTracepoint(event string) { s.Expect(typedefBTF+event, Set(Typedef)) }

func (s *Spec) typedefProto(id uint32) (*types.Func, error) {
	r, err := s.record(id)
	if err == nil {
		r, err = s.record(r.arg)
	}
	if err != nil {
		return nil, err
	}
	if r.kind != Ptr {
		return nil, fmt.Errorf("BTF of %s: typedef %d does not point to a function", s.Name, id)
	}
	return s.proto(r.arg)
}

// EachRawTracepoint calls fn with the name of every tracepoint until it
// returns false; event is only valid during the call.
func (s *Spec) EachRawTracepoint(fn func(event []byte) bool) error {
	return s.Each(Set(Typedef), func(_ uint32, _ Kind, name []byte) bool {
		if len(name) <= len(typedefBTF) || string(name[:len(typedefBTF)]) != typedefBTF {
			return true
		}
		return fn(name[len(typedefBTF):])
	})
}
