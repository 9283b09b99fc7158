package dwarf

import "debug/dwarf"

// Inlined reports whether the program has a function of a name whose code stands where it is
// called. That it stands nowhere else the symbols tell: a function may be inlined here and called
// there.
func (f *File) Inlined(name string) bool {
	e, ok := f.find(name, []dwarf.Tag{dwarf.TagSubprogram})
	if !ok {
		return false
	}
	// DW_INL_inlined is 1, DW_INL_declared_inlined 3.
	how, _ := e.Val(dwarf.AttrInline).(int64)
	return how == 1 || how == 3
}
