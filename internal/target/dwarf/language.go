package dwarf

import "debug/dwarf"

// Languages that hawk treats by rules of their own, by the standard's section
// 7.12.
const (
	languageGo   = 0x16
	languageRust = 0x1c
)

// language is what a unit was written in.
func (f *File) language(unit int) int64 {
	root, err := f.at(f.units[unit].first)
	if err != nil {
		return 0
	}
	language, _ := root.number(dwarf.AttrLanguage)
	return language
}

// plainTypes reports whether the language of an entry names types without a
// keyword such as struct.
func (e entry) plainTypes() bool {
	i := e.in.unitAt(e.Offset)
	if i < 0 {
		return false
	}
	language := e.in.language(i)
	return language == languageGo || language == languageRust
}
