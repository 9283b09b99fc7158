package dwarf

import (
	"debug/dwarf"

	"github.com/hawktrace/hawk/internal/cursor"
	"github.com/hawktrace/hawk/internal/exe"
)

// A form is how the value of an attribute is written (DWARF 5, section 7.5.6).
type form uint16

const (
	formAddr          form = 0x01
	formBlock2        form = 0x03
	formBlock4        form = 0x04
	formData2         form = 0x05
	formData4         form = 0x06
	formData8         form = 0x07
	formString        form = 0x08
	formBlock         form = 0x09
	formBlock1        form = 0x0a
	formData1         form = 0x0b
	formFlag          form = 0x0c
	formSdata         form = 0x0d
	formStrp          form = 0x0e
	formUdata         form = 0x0f
	formRefAddr       form = 0x10
	formRef1          form = 0x11
	formRef2          form = 0x12
	formRef4          form = 0x13
	formRef8          form = 0x14
	formRefUdata      form = 0x15
	formIndirect      form = 0x16
	formSecOffset     form = 0x17
	formExprloc       form = 0x18
	formFlagPresent   form = 0x19
	formStrx          form = 0x1a
	formAddrx         form = 0x1b
	formRefSup4       form = 0x1c
	formStrpSup       form = 0x1d
	formData16        form = 0x1e
	formLineStrp      form = 0x1f
	formRefSig8       form = 0x20
	formImplicitConst form = 0x21
	formLoclistx      form = 0x22
	formRnglistx      form = 0x23
	formRefSup8       form = 0x24
	formStrx1         form = 0x25
	formStrx4         form = 0x28
	formAddrx1        form = 0x29
	formAddrx4        form = 0x2c
	formGNUAddrIndex  form = 0x1f01
	formGNUStrIndex   form = 0x1f02
	formGNURefAlt     form = 0x1f20
	formGNUStrpAlt    form = 0x1f21
)

// size is how many bytes the number takes that a form begins with.
func (fm form) size() int {
	switch fm {
	case formData1, formBlock1, formRef1:
		return 1
	case formData2, formBlock2, formRef2:
		return 2
	case formData4, formBlock4, formRef4:
		return 4
	}
	return 8
}

// A raw value is one as it is written: a number or bytes, and the form that
// says what they mean, of those that mean the same one.
type rawValue struct {
	form form
	n    uint64
	b    []byte
}

// raw takes a value. ok is false for forms that nobody knows, behind which
// nothing can be found.
func (u *unit) raw(c *cursor.Cursor, fd abbrevField) (v rawValue, ok bool) {
	fm := fd.form
	// DW_FORM_indirect has the form in front of the value; one that leads to itself again is
	// malformed.
	for range 2 {
		if fm != formIndirect {
			break
		}
		fm = form(c.ULEB())
	}
	v.form = fm
	word := u.word()
	switch fm {
	case formAddr:
		v.n = c.Uint(int(u.addrSize))
	case formBlock1, formBlock2, formBlock4:
		v.form, v.b = formBlock, c.Bytes(c.Uint(fm.size()))
	case formBlock, formExprloc:
		v.b = c.Bytes(c.ULEB())
	case formData16:
		v.form, v.b = formBlock, c.Bytes(16)
	case formData1, formData2, formData4, formData8:
		v.form = formUdata
		v.n = c.Uint(fm.size())
	case formUdata, formLoclistx, formRnglistx, formStrx, formAddrx:
		v.n = c.ULEB()
	case formSdata:
		v.form, v.n = formUdata, uint64(c.SLEB())
	case formImplicitConst:
		v.form, v.n = formUdata, uint64(fd.implicit)
	case formString:
		v.b = c.Text()
	case formFlag:
		v.n = c.Uint(1)
	case formFlagPresent:
		v.form, v.n = formFlag, 1
	case formStrp, formLineStrp, formSecOffset:
		v.n = c.Uint(word)
	case formStrpSup, formGNUStrpAlt:
		v.form, v.n = formGNUStrpAlt, c.Uint(word)
	case formRefAddr:
		// DWARF 2 gave references the size of an address.
		if u.version < 3 {
			word = int(u.addrSize)
		}
		v.n = c.Uint(word)
	case formGNURefAlt:
		v.n = c.Uint(word)
	case formRefSup4:
		v.form, v.n = formGNURefAlt, c.Uint(4)
	case formRefSup8:
		v.form, v.n = formGNURefAlt, c.Uint(8)
	case formRef1, formRef2, formRef4, formRef8:
		v.form, v.n = formRef4, c.Uint(fm.size())
	case formRefUdata:
		v.form, v.n = formRef4, c.ULEB()
	case formRefSig8:
		v.n = c.Uint(8)
	case formGNUAddrIndex:
		v.form, v.n = formAddrx, c.ULEB()
	case formGNUStrIndex:
		v.form, v.n = formStrx, c.ULEB()
	default:
		switch {
		// Forms in a row with indices of one to four bytes.
		case fm >= formStrx1 && fm <= formStrx4:
			v.form, v.n = formStrx, c.Uint(int(fm-formStrx1)+1)
		case fm >= formAddrx1 && fm <= formAddrx4:
			v.form, v.n = formAddrx, c.Uint(int(fm-formAddrx1)+1)
		default:
			return v, false
		}
	}
	return v, !c.Bad
}

// value is what a raw value means, in the types of package debug/dwarf. A number is signed whatever
// its form was: attributes that need all 64 bits have others.
func (f *File) value(u *unit, v rawValue) (any, dwarf.Class) {
	switch v.form {
	case formAddr:
		return v.n, dwarf.ClassAddress
	case formAddrx:
		return f.indexedAddr(u, v.n), dwarf.ClassAddress
	case formBlock:
		return v.b, dwarf.ClassBlock
	case formExprloc:
		return v.b, dwarf.ClassExprLoc
	case formUdata:
		return int64(v.n), dwarf.ClassConstant
	case formFlag:
		return v.n != 0, dwarf.ClassFlag
	case formString:
		return string(v.b), dwarf.ClassString
	case formStrp:
		return text(f.str, v.n), dwarf.ClassString
	case formLineStrp:
		return text(f.lineStr, v.n), dwarf.ClassString
	case formStrx:
		return f.indexedString(u, v.n), dwarf.ClassString
	case formGNUStrpAlt:
		return int64(v.n), dwarf.ClassStringAlt
	case formRef4:
		return u.base + dwarf.Offset(v.n), dwarf.ClassReference
	case formRefAddr:
		return dwarf.Offset(v.n), dwarf.ClassReference
	case formRefSig8:
		return v.n, dwarf.ClassReferenceSig
	case formGNURefAlt:
		return int64(v.n), dwarf.ClassReferenceAlt
	case formRnglistx:
		return f.indexedRanges(u, v.n), dwarf.ClassRngList
	}
	return int64(v.n), dwarf.ClassLinePtr // an offset in one of the other sections
}

// element reads the n-th number of a table in a section; 0 if it has none.
func (f *File) element(section exe.Bytes, base, n uint64, size int) uint64 {
	// So that the product below does not overflow: sections are shorter than 2^32 bytes.
	if n > uint64(section.Len()) || base > uint64(section.Len()) {
		return 0
	}
	at := base + n*uint64(size)
	if at > uint64(section.Len()) {
		return 0
	}
	c := section.Cursor(int(at), section.Len(), f.big)
	return c.Uint(size)
}

// indexedAddr is the n-th address of a unit's table in .debug_addr.
func (f *File) indexedAddr(u *unit, n uint64) uint64 {
	return f.element(f.addr, f.bases(u).addr, n, int(u.addrSize))
}

// indexedString is the string whose offset is the n-th of a unit's in .debug_str_offsets.
func (f *File) indexedString(u *unit, n uint64) string {
	return text(f.str, f.element(f.strx, f.bases(u).str, n, u.word()))
}

// indexedRanges is where in .debug_rnglists the n-th list of a unit is.
func (f *File) indexedRanges(u *unit, n uint64) int64 {
	base := f.bases(u).ranges
	return int64(base + f.element(f.rnglists, base, n, u.word()))
}
