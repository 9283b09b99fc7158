package machine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/types"
)

// A Format is the layout of a tracepoint's record.
type Format struct {
	Category, Event string
	ID              int
	Fields          []FormatField
	Bytes           int // end of the last field

	record *types.Struct
}

// A FormatField is one field of a record.
type FormatField struct {
	types.Field        // of a __data_loc field: a string without capacity for text, else int64 for an address
	Decl        string // the declaration as the kernel prints it, with the name
	Bytes       int    // in the record
	Common      bool   // one of those every event has
}

// Struct is the record as the type of args.
func (f *Format) Struct() *types.Struct { return f.record }

// TracepointFormat reads the layout of a tracepoint's record.
func (t *Machine) TracepointFormat(category, event string) (*Format, error) {
	key := category + ":" + event
	t.mu.Lock()
	f, ok := t.formats[key]
	t.mu.Unlock()
	if ok {
		return f, nil
	}
	data, err := t.eventFile(category, event, "format")
	if err != nil {
		return nil, err
	}
	if f, err = ParseFormat(category, event, string(data), t); err != nil {
		return nil, err
	}
	if t.ledger != nil {
		t.ledger.record(f)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.formats == nil {
		t.formats = make(map[string]*Format)
	}
	t.formats[key] = f
	return f, nil
}

// TracepointDecls returns the declarations of a tracepoint's own fields, as the
// format file has them, for those who want to know no more.
func (t *Machine) TracepointDecls(category, event string) ([]string, error) {
	data, err := t.eventFile(category, event, "format")
	if err != nil {
		return nil, err
	}
	var out []string
	fields, common := false, true
	for line := range strings.Lines(string(data)) {
		if field, ok := strings.CutPrefix(line, fieldPrefix); ok {
			fields = true
			if decl, _, ok := strings.Cut(field, ";"); ok && !common {
				out = append(out, decl)
			}
			continue
		}
		if strings.HasPrefix(line, printPrefix) {
			break
		}
		common = common && !(fields && strings.TrimSpace(line) == "")
	}
	return out, nil
}

// How lines of a format file begin: a field's, and the one behind the fields,
// which is not for us and can be long.
const (
	fieldPrefix = "\tfield:"
	printPrefix = "print fmt:"
)

// ParseFormat parses the text of a format file. What pointers to structs
// point to is looked up in t when it is used; t may be nil.
func ParseFormat(category, event, text string, t *Machine) (*Format, error) {
	f := &Format{Category: category, Event: event}
	common := true
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case strings.HasPrefix(line, "ID:"):
			id, err := strconv.Atoi(strings.TrimSpace(line[3:]))
			if err != nil {
				return nil, fmt.Errorf("format of %s:%s: bad ID", category, event)
			}
			f.ID = id
		case strings.HasPrefix(line, fieldPrefix):
			ff, err := parseField(line[len(fieldPrefix):], category == "syscalls", t)
			if err != nil {
				return nil, fmt.Errorf("format of %s:%s: %w", category, event, err)
			}
			ff.Common = common
			f.Fields = append(f.Fields, ff)
			f.Bytes = max(f.Bytes, ff.Offset+ff.Bytes)
		case strings.TrimSpace(line) == "" && len(f.Fields) > 0:
			common = false // the common fields end with an empty line
		case strings.HasPrefix(line, printPrefix):
			return f.finish(), nil
		}
	}
	if len(f.Fields) == 0 {
		return nil, fmt.Errorf("format of %s:%s: no fields", category, event)
	}
	return f.finish(), nil
}

// finish makes the record of the fields, once all are known.
func (f *Format) finish() *Format {
	fields := make([]types.Field, len(f.Fields))
	for i := range f.Fields {
		fields[i] = f.Fields[i].Field
	}
	name := "tracepoint:" + f.Category + ":" + f.Event + "_args"
	f.record = types.NewStruct(types.ContextKind, name, f.Bytes, 8, fields)
	return f
}

// maxRecord bounds offsets and sizes: a perf record is at most 64 kB
// (PERF_MAX_TRACE_SIZE is 8 kB).
const maxRecord = 1 << 16

// parseField parses "TYPE NAME[ARRAY];	offset:O;	size:S;	signed:B;".
func parseField(line string, syscall bool, t *Machine) (FormatField, error) {
	parts := strings.Split(line, ";")
	f := FormatField{Decl: parts[0]}
	signed, haveOffset, haveSize := false, false, false
	for _, p := range parts[1:] {
		key, value, _ := strings.Cut(strings.TrimSpace(p), ":")
		n, err := strconv.Atoi(value)
		if key == "" {
			continue
		}
		if err != nil || n < 0 || n > maxRecord {
			return f, fmt.Errorf("bad %s of field %q", key, f.Decl)
		}
		switch key {
		case "offset":
			f.Offset, haveOffset = n, true
		case "size":
			f.Bytes, haveSize = n, true
		case "signed":
			signed = n != 0
		}
	}
	if !haveOffset || !haveSize {
		return f, fmt.Errorf("field %q has no offset or size", f.Decl)
	}
	d, ok := splitDecl(f.Decl)
	if !ok {
		return f, fmt.Errorf("cannot understand field %q", f.Decl)
	}
	f.Name = d.name
	if d.loc != types.NoDataLoc {
		f.DataLoc, f.Type = d.loc, types.Int64
		if d.base == "char" && d.array {
			f.Type = &types.String{} // of any length
		}
		return f, nil
	}
	f.Type = d.fieldType(f.Bytes, signed, syscall, t)
	return f, nil
}

// DeclName is the name that a declaration of a format file gives, "" if that is not understood.
func DeclName(decl string) string {
	d, _ := splitDecl(decl)
	return d.name
}

// A fieldDecl is a declaration of a format file taken apart.
type fieldDecl struct {
	base  string // type without qualifiers, stars and array
	name  string
	stars int
	array bool
	count int // of the array if it is a number, else 0
	loc   types.DataLoc
}

// splitDecl takes a declaration apart. It need not be C in full: kernels print what is in the macro
// of the event.
func splitDecl(decl string) (d fieldDecl, ok bool) {
	s := strings.TrimSpace(decl)
	for _, p := range [...]struct {
		prefix string
		loc    types.DataLoc
	}{{"__data_loc ", types.DataLocAbs}, {"__rel_loc ", types.DataLocRel}, {"__rel_data_loc ", types.DataLocRel}} {
		if rest, ok := strings.CutPrefix(s, p.prefix); ok {
			s, d.loc = rest, p.loc
		}
	}
	if i := strings.IndexByte(s, '('); i >= 0 && !strings.Contains(s[:i], "[") { // not name[sizeof(x)]
		// A function pointer, "int (*name)(void)", is an address like any.
		inner, _, closed := strings.Cut(s[i+1:], ")")
		d.name, ok = strings.CutPrefix(strings.TrimSpace(inner), "*")
		d.stars, d.base = 1, "void"
		return d, ok && closed && d.name != ""
	}
	if i := strings.IndexByte(s, '['); i >= 0 && strings.HasSuffix(s, "]") {
		d.array = true
		d.count, _ = strconv.Atoi(s[i+1 : len(s)-1])
		s = strings.TrimSpace(s[:i])
	} else if i >= 0 {
		// "__data_loc char[] name"
		j := strings.IndexByte(s, ']')
		if j < i {
			return d, false
		}
		d.array = true
		s = s[:i] + " " + s[j+1:]
	}
	i := len(s)
	for i > 0 && isNameByte(s[i-1]) {
		i--
	}
	d.name = s[i:]
	var words []string
	for w := range strings.FieldsSeq(strings.ReplaceAll(s[:i], "*", " * ")) {
		switch w {
		case "*":
			d.stars++
		case "const", "volatile", "__user", "__rcu", "__kernel":
		default:
			words = append(words, w)
		}
	}
	d.base = strings.Join(words, " ")
	return d, d.name != "" && d.base != ""
}

// isNameByte reports whether a byte can be part of a name in C.
func isNameByte(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '_'
}

// fieldType is the type of a field that lies in the record itself. The size counts, not the name: a
// typedef may be unknown, the width is not.
func (d *fieldDecl) fieldType(bytes int, signed, syscall bool, t *Machine) types.Type {
	if d.array {
		return d.arrayType(bytes, signed)
	}
	if d.stars > 0 && bytes == 8 {
		p := &types.Pointer{Elem: d.pointee(t), Space: types.Kernel}
		if syscall {
			p.Space = types.User
		}
		return p
	}
	if e, ok := d.enum(bytes, t); ok {
		return e
	}
	switch bytes {
	case 1:
		if d.base == "bool" || d.base == "_Bool" {
			return types.Bool
		}
		fallthrough
	case 2, 4, 8:
		return types.IntOf(bytes, signed)
	}
	return &types.Array{Elem: types.Uint8, Len: bytes} // a struct by value
}

// enum is the enum that a field is of, if the kernel's types have it.
func (d *fieldDecl) enum(bytes int, t *Machine) (*types.Enum, bool) {
	tag, ok := strings.CutPrefix(d.base, "enum ")
	if !ok || t == nil || d.stars > 0 {
		return nil, false
	}
	found, err := t.TypeByName("enum", tag)
	e, ok := found.(*types.Enum)
	if err != nil || !ok {
		return nil, false
	}
	if e.Bytes != bytes { // packed in the record
		narrow := *e
		narrow.Bytes = bytes
		e = &narrow
	}
	return e, true
}

// arrayType is the type of an array, of which the format tells the size in bytes and mostly the
// number of elements, though that may be a name.
func (d *fieldDecl) arrayType(bytes int, signed bool) types.Type {
	if d.base == "char" && d.stars == 0 {
		return &types.String{Cap: bytes}
	}
	elem := baseType(d.base)
	if d.stars > 0 {
		elem = &types.Pointer{Elem: types.Void, Space: types.Kernel}
	}
	if elem == nil && d.count > 0 && bytes%d.count == 0 {
		switch n := bytes / d.count; n {
		case 1, 2, 4, 8:
			elem = types.IntOf(n, signed)
		}
	}
	if elem == nil || bytes%elem.Size() != 0 {
		elem = types.Uint8
	}
	return &types.Array{Elem: elem, Len: bytes / elem.Size()}
}

// pointee is what a pointer field points to. A struct is looked up in BTF
// only when its fields or size are needed: most scripts never ask.
func (d *fieldDecl) pointee(t *Machine) types.Type {
	if d.stars > 1 {
		inner := *d
		inner.stars--
		return &types.Pointer{Elem: inner.pointee(t)}
	}
	for _, k := range [...]struct {
		word string
		kind types.Kind
	}{{"struct ", types.StructKind}, {"union ", types.UnionKind}} {
		tag, ok := strings.CutPrefix(d.base, k.word)
		if !ok || t == nil {
			continue
		}
		s := types.NewStruct(k.kind, tag, -1, 0, nil)
		s.Load = func() []types.Field {
			s.Bytes = 0
			found, err := t.TypeByName(strings.TrimSpace(k.word), tag)
			real, ok := found.(*types.Struct)
			if err != nil || !ok {
				return nil
			}
			s.Bytes, s.Algn, s.BTFID, s.Found = real.Bytes, real.Algn, real.BTFID, real.Found
			return real.Fields()
		}
		return s
	}
	if b := baseType(d.base); b != nil {
		return b
	}
	return types.Void
}

// baseType maps the names of C's and the kernel's integers; nil for others.
func baseType(name string) types.Type {
	switch name {
	case "char", "signed char", "s8", "__s8", "int8_t":
		return types.Int8
	case "unsigned char", "u8", "__u8", "uint8_t":
		return types.Uint8
	case "short", "short int", "s16", "__s16", "int16_t":
		return types.Int16
	case "unsigned short", "short unsigned int", "u16", "__u16", "uint16_t", "__be16", "__le16", "umode_t":
		return types.Uint16
	case "int", "s32", "__s32", "int32_t", "pid_t":
		return types.Int32
	case "unsigned int", "unsigned", "u32", "__u32", "uint32_t", "__be32", "__le32", "uid_t", "gid_t", "dev_t":
		return types.Uint32
	case "long", "long int", "long long", "s64", "__s64", "int64_t", "loff_t", "ssize_t", "off_t":
		return types.Int64
	case "unsigned long", "long unsigned int", "unsigned long long", "u64", "__u64", "uint64_t",
		"__be64", "__le64", "size_t", "sector_t", "aio_context_t":
		return types.Uint64
	case "bool", "_Bool":
		return types.Bool
	}
	return nil
}
