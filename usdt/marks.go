package usdt

import "unsafe"

// The marks with arguments of Go types. They are alike but for the number of arguments: Fire is small enough to be
// inlined (see mark.enabled), and fire makes words of the arguments and calls.

// A Mark0 is a mark without arguments.
type Mark0 struct{ mark }

// NewMark0 declares a mark. It panics if the name is none, if the provider has
// it already, and if the provider is loaded.
func NewMark0(p *Provider, name string) *Mark0 {
	m := new(Mark0)
	p.add(&m.mark, name, nil)
	return m
}

// Enabled reports whether a tracer is attached to the mark.
func (m *Mark0) Enabled() bool { return m.enabled() }

// Fire hits the mark if it is enabled.
func (m *Mark0) Fire() {
	if m.enabled() {
		m.fire()
	}
}

//go:noinline
func (m *Mark0) fire() {
	var hit call
	hit.at(m.code)
}

// A Mark1 is a mark with one argument.
type Mark1[A Arg] struct {
	mark
	forms [1]form
}

// NewMark1 declares a mark with one argument. It panics as NewMark0 does.
func NewMark1[A Arg](p *Provider, name string) *Mark1[A] {
	m := new(Mark1[A])
	var kinds []Kind
	kinds = declare[A](&m.forms[0], kinds)
	p.add(&m.mark, name, kinds)
	return m
}

// Enabled reports whether a tracer is attached to the mark.
func (m *Mark1[A]) Enabled() bool { return m.enabled() }

// Fire hits the mark if it is enabled.
func (m *Mark1[A]) Fire(a A) {
	if m.enabled() {
		m.fire(a)
	}
}

//go:noinline
func (m *Mark1[A]) fire(a A) {
	var hit call
	hit.add(m.forms[0], unsafe.Pointer(&a))
	hit.at(m.code)
}

// A Mark2 is a mark with two arguments.
type Mark2[A, B Arg] struct {
	mark
	forms [2]form
}

// NewMark2 declares a mark with two arguments. It panics as NewMark0 does.
func NewMark2[A, B Arg](p *Provider, name string) *Mark2[A, B] {
	m := new(Mark2[A, B])
	var kinds []Kind
	kinds = declare[A](&m.forms[0], kinds)
	kinds = declare[B](&m.forms[1], kinds)
	p.add(&m.mark, name, kinds)
	return m
}

// Enabled reports whether a tracer is attached to the mark.
func (m *Mark2[A, B]) Enabled() bool { return m.enabled() }

// Fire hits the mark if it is enabled.
func (m *Mark2[A, B]) Fire(a A, b B) {
	if m.enabled() {
		m.fire(a, b)
	}
}

//go:noinline
func (m *Mark2[A, B]) fire(a A, b B) {
	var hit call
	hit.add(m.forms[0], unsafe.Pointer(&a))
	hit.add(m.forms[1], unsafe.Pointer(&b))
	hit.at(m.code)
}

// A Mark3 is a mark with three arguments.
type Mark3[A, B, C Arg] struct {
	mark
	forms [3]form
}

// NewMark3 declares a mark with three arguments. It panics as NewMark0 does.
func NewMark3[A, B, C Arg](p *Provider, name string) *Mark3[A, B, C] {
	m := new(Mark3[A, B, C])
	var kinds []Kind
	kinds = declare[A](&m.forms[0], kinds)
	kinds = declare[B](&m.forms[1], kinds)
	kinds = declare[C](&m.forms[2], kinds)
	p.add(&m.mark, name, kinds)
	return m
}

// Enabled reports whether a tracer is attached to the mark.
func (m *Mark3[A, B, C]) Enabled() bool { return m.enabled() }

// Fire hits the mark if it is enabled.
func (m *Mark3[A, B, C]) Fire(a A, b B, c C) {
	if m.enabled() {
		m.fire(a, b, c)
	}
}

//go:noinline
func (m *Mark3[A, B, C]) fire(a A, b B, c C) {
	var hit call
	hit.add(m.forms[0], unsafe.Pointer(&a))
	hit.add(m.forms[1], unsafe.Pointer(&b))
	hit.add(m.forms[2], unsafe.Pointer(&c))
	hit.at(m.code)
}

// A Mark4 is a mark with four arguments.
type Mark4[A, B, C, D Arg] struct {
	mark
	forms [4]form
}

// NewMark4 declares a mark with four arguments. It panics as NewMark0 does.
func NewMark4[A, B, C, D Arg](p *Provider, name string) *Mark4[A, B, C, D] {
	m := new(Mark4[A, B, C, D])
	var kinds []Kind
	kinds = declare[A](&m.forms[0], kinds)
	kinds = declare[B](&m.forms[1], kinds)
	kinds = declare[C](&m.forms[2], kinds)
	kinds = declare[D](&m.forms[3], kinds)
	p.add(&m.mark, name, kinds)
	return m
}

// Enabled reports whether a tracer is attached to the mark.
func (m *Mark4[A, B, C, D]) Enabled() bool { return m.enabled() }

// Fire hits the mark if it is enabled.
func (m *Mark4[A, B, C, D]) Fire(a A, b B, c C, d D) {
	if m.enabled() {
		m.fire(a, b, c, d)
	}
}

//go:noinline
func (m *Mark4[A, B, C, D]) fire(a A, b B, c C, d D) {
	var hit call
	hit.add(m.forms[0], unsafe.Pointer(&a))
	hit.add(m.forms[1], unsafe.Pointer(&b))
	hit.add(m.forms[2], unsafe.Pointer(&c))
	hit.add(m.forms[3], unsafe.Pointer(&d))
	hit.at(m.code)
}

// A Mark5 is a mark with five arguments.
type Mark5[A, B, C, D, E Arg] struct {
	mark
	forms [5]form
}

// NewMark5 declares a mark with five arguments. It panics as NewMark0 does.
func NewMark5[A, B, C, D, E Arg](p *Provider, name string) *Mark5[A, B, C, D, E] {
	m := new(Mark5[A, B, C, D, E])
	var kinds []Kind
	kinds = declare[A](&m.forms[0], kinds)
	kinds = declare[B](&m.forms[1], kinds)
	kinds = declare[C](&m.forms[2], kinds)
	kinds = declare[D](&m.forms[3], kinds)
	kinds = declare[E](&m.forms[4], kinds)
	p.add(&m.mark, name, kinds)
	return m
}

// Enabled reports whether a tracer is attached to the mark.
func (m *Mark5[A, B, C, D, E]) Enabled() bool { return m.enabled() }

// Fire hits the mark if it is enabled.
func (m *Mark5[A, B, C, D, E]) Fire(a A, b B, c C, d D, e E) {
	if m.enabled() {
		m.fire(a, b, c, d, e)
	}
}

//go:noinline
func (m *Mark5[A, B, C, D, E]) fire(a A, b B, c C, d D, e E) {
	var hit call
	hit.add(m.forms[0], unsafe.Pointer(&a))
	hit.add(m.forms[1], unsafe.Pointer(&b))
	hit.add(m.forms[2], unsafe.Pointer(&c))
	hit.add(m.forms[3], unsafe.Pointer(&d))
	hit.add(m.forms[4], unsafe.Pointer(&e))
	hit.at(m.code)
}

// A Mark6 is a mark with six arguments.
type Mark6[A, B, C, D, E, F Arg] struct {
	mark
	forms [6]form
}

// NewMark6 declares a mark with six arguments. It panics as NewMark0 does.
func NewMark6[A, B, C, D, E, F Arg](p *Provider, name string) *Mark6[A, B, C, D, E, F] {
	m := new(Mark6[A, B, C, D, E, F])
	var kinds []Kind
	kinds = declare[A](&m.forms[0], kinds)
	kinds = declare[B](&m.forms[1], kinds)
	kinds = declare[C](&m.forms[2], kinds)
	kinds = declare[D](&m.forms[3], kinds)
	kinds = declare[E](&m.forms[4], kinds)
	kinds = declare[F](&m.forms[5], kinds)
	p.add(&m.mark, name, kinds)
	return m
}

// Enabled reports whether a tracer is attached to the mark.
func (m *Mark6[A, B, C, D, E, F]) Enabled() bool { return m.enabled() }

// Fire hits the mark if it is enabled.
func (m *Mark6[A, B, C, D, E, F]) Fire(a A, b B, c C, d D, e E, f F) {
	if m.enabled() {
		m.fire(a, b, c, d, e, f)
	}
}

//go:noinline
func (m *Mark6[A, B, C, D, E, F]) fire(a A, b B, c C, d D, e E, f F) {
	var hit call
	hit.add(m.forms[0], unsafe.Pointer(&a))
	hit.add(m.forms[1], unsafe.Pointer(&b))
	hit.add(m.forms[2], unsafe.Pointer(&c))
	hit.add(m.forms[3], unsafe.Pointer(&d))
	hit.add(m.forms[4], unsafe.Pointer(&e))
	hit.add(m.forms[5], unsafe.Pointer(&f))
	hit.at(m.code)
}

// declare sets the form of an argument and appends the kinds of its words.
func declare[T Arg](f *form, kinds []Kind) []Kind {
	var more []Kind
	*f, more = formOf[T]()
	return append(kinds, more...)
}
