package dwarf

import (
	"debug/dwarf"
	"path"
	"slices"
	"sort"

	"github.com/hawktrace/hawk/internal/cursor"
	"github.com/hawktrace/hawk/internal/order"
)

// A lineTable says which code was compiled from which line, for one unit.
type lineTable struct {
	files []string // by the numbers that rows and entries have
	rows  []lineRow
	seqs  []sequence // by address
}

// A lineRow is valid up to the next one of its sequence.
type lineRow struct {
	addr         uint64
	line         uint32
	file, column uint16
}

// A sequence is a stretch of code: rows[first:last].
type sequence struct {
	low, high   uint64
	first, last int
}

// Bounds of a table, and of all that are kept.
const (
	maxLineFiles = 1<<16 - 1
	maxLineRows  = 1 << 22
	maxRowsKept  = 1 << 21
	maxLineNames = 16 << 20 // bytes of the names of a table, which can be one long name again and again
	rowBytes     = 16       // of names that count as a row
)

// lineTable reads the table of a unit whose first entry is root; nil if it has
// none.
func (f *File) lineTable(root entry) *lineTable {
	at, ok := f.lineAt(root)
	if !ok {
		return nil
	}
	// Type units share the table of the unit they were taken from.
	if t, ok := f.lines[uint64(at)]; ok {
		return t
	}
	p, ok := f.lineHeader(root, at)
	// Rows that were read before something malformed are kept: a line that is known helps.
	if ok {
		p.run()
	}
	t := p.t
	t.rows = slices.Clip(t.rows)
	order.By(t.seqs, func(a, b sequence) int {
		if a.low < b.low {
			return -1
		}
		return int(min(a.low-b.low, 1))
	})
	size := len(t.rows) + len(t.files) + p.names/rowBytes
	if f.rowsKept += size; f.rowsKept > maxRowsKept {
		clear(f.lines)
		f.rowsKept = size
	}
	if f.lines == nil {
		f.lines = map[uint64]*lineTable{}
	}
	f.lines[uint64(at)] = t
	return t
}

// lineAt is where the table of a unit begins whose first entry is root.
func (f *File) lineAt(root entry) (at int64, ok bool) {
	at, ok = root.Val(dwarf.AttrStmtList).(int64)
	return at, ok && at >= 0 && at < int64(f.line.Len())
}

// lineHeader reads the head of the table at an offset, which is of a unit whose first entry is root.
func (f *File) lineHeader(root entry, at int64) (p lineProgram, ok bool) {
	p = lineProgram{f: f, c: f.line.Cursor(int(at), f.line.Len(), f.big), t: &lineTable{}}
	// Paths of the table are relative to where the compiler ran.
	dir, _ := root.Val(dwarf.AttrCompDir).(string)
	ok = p.header(dir, root.name())
	return p, ok
}

// row is the one that an instruction belongs to; ok is false if none does.
func (t *lineTable) row(addr uint64) (r lineRow, ok bool) {
	i := sort.Search(len(t.seqs), func(i int) bool { return t.seqs[i].low > addr }) - 1
	if i < 0 || addr >= t.seqs[i].high {
		return r, false
	}
	rows := t.rows[t.seqs[i].first:t.seqs[i].last]
	// Only the last of several at one address stands for code.
	k := sort.Search(len(rows), func(k int) bool { return rows[k].addr > addr }) - 1
	if k < 0 {
		return r, false
	}
	return rows[k], true
}

// file is the path of a file by its number, "" if there is none.
func (t *lineTable) file(n int64) string {
	if n >= 0 && n < int64(len(t.files)) {
		return t.files[n]
	}
	return ""
}

// A lineProgram makes a table (DWARF 5, section 6.2).
type lineProgram struct {
	f *File
	c cursor.Cursor
	t *lineTable

	unit     unit // for the forms of the header: sizes only
	minInst  uint64
	maxOps   uint64
	lineBase int64
	lineSpan uint64
	opBase   byte
	lengths  []byte // how many operands standard opcodes have
	names    int    // bytes of the names of directories and files

	row   lineRow
	line  uint64
	op    uint64 // index in a bundle of instructions
	first int    // of the rows of this sequence
}

// Kinds of what is said of a file (DWARF 5, section 6.2.4.1).
const (
	contentPath = 1
	contentDir  = 2
)

// header reads up to the program. dir is where paths begin, name that of the
// source file.
func (p *lineProgram) header(dir, name string) bool {
	c := &p.c
	size := c.Uint(4)
	if p.unit.wide = size == 0xffffffff; p.unit.wide {
		size = c.Uint(8)
	}
	if size > uint64(c.Left()) {
		return false
	}
	// The program ends with its own contribution, not with the section.
	c.Data = c.Data[:c.At+int(size)]
	version := c.Uint(2)
	if version < 2 || version > 5 {
		return false
	}
	p.unit.version, p.unit.addrSize, p.unit.known = uint8(version), 8, &unitBases{}
	if version >= 5 {
		p.unit.addrSize = c.Byte()
		c.Byte() // of a segment selector
	}
	length := c.Uint(p.unit.word())
	if length > uint64(c.Left()) {
		return false
	}
	// The program begins where the header says, whatever a later version has in between.
	begin := c.At + int(length)
	p.minInst, p.maxOps = uint64(c.Byte()), 1
	if version >= 4 {
		p.maxOps = uint64(max(1, c.Byte()))
	}
	c.Byte() // whether rows begin as statements
	p.lineBase, p.lineSpan, p.opBase = int64(int8(c.Byte())), uint64(c.Byte()), c.Byte()
	// run divides by the one and subtracts 1 from the other.
	if p.lineSpan == 0 || p.opBase == 0 {
		return false
	}
	p.lengths = c.Bytes(uint64(p.opBase - 1))
	if version >= 5 {
		dirs := p.table(func(name string, _ uint64) string { return p.inDir(nil, dir, name, 0) })
		p.t.files = p.table(func(name string, in uint64) string { return p.inDir(dirs, dir, name, in) })
	} else {
		p.oldTables(dir, name)
	}
	c.At = begin
	return !c.Bad
}

// inDir is the path of a file in the directory of a number, or in dir; "" once there are too many
// names.
func (p *lineProgram) inDir(dirs []string, dir, name string, in uint64) string {
	switch {
	case path.IsAbs(name):
		dir = ""
	case in < uint64(len(dirs)):
		dir = dirs[in]
	}
	if p.names += len(dir) + len(name) + 1; p.names > maxLineNames {
		return ""
	}
	return path.Join(dir, name)
}

// oldTables reads those of DWARF 2 to 4, in which numbers begin with 1.
func (p *lineProgram) oldTables(dir, name string) {
	c := &p.c
	dirs := []string{dir}
	for len(dirs) < maxLineFiles {
		s := c.String()
		if s == "" {
			break
		}
		dirs = append(dirs, p.inDir(nil, dir, s, 0))
	}
	first := ""
	if name != "" {
		first = p.inDir(dirs, dir, name, 0)
	}
	p.t.files = []string{first}
	for len(p.t.files) < maxLineFiles {
		s := c.String()
		if s == "" {
			return
		}
		p.t.files = append(p.t.files, p.inDir(dirs, dir, s, c.ULEB()))
		c.ULEB() // time
		c.ULEB() // size
	}
}

// table reads one of DWARF 5: paths, of which full makes what they stand for.
func (p *lineProgram) table(full func(name string, dir uint64) string) (out []string) {
	c := &p.c
	format := make([]abbrevField, c.Byte())
	for i := range format {
		format[i] = abbrevField{attr: dwarf.Attr(c.ULEB()), form: form(c.ULEB())}
	}
	for n := c.ULEB(); n > 0 && len(out) < maxLineFiles && c.More(); n-- {
		name, dir := "", uint64(0)
		for _, fd := range format {
			v, ok := p.unit.raw(c, fd)
			if !ok {
				c.Bad = true
				return out
			}
			switch fd.attr {
			case contentPath:
				if p.names <= maxLineNames {
					val, _ := p.f.value(&p.unit, v)
					name, _ = val.(string)
				}
			case contentDir:
				dir = v.n
			}
		}
		out = append(out, full(name, dir))
	}
	return out
}

// Opcodes (DWARF 5, sections 6.2.5.2 and 6.2.5.3).
const (
	opExtended     = 0
	opCopy         = 1
	opAdvancePC    = 2
	opAdvanceLine  = 3
	opSetFile      = 4
	opSetColumn    = 5
	opConstAddPC   = 8
	opFixedAdvance = 9
	opEndSequence  = 1 // extended
	opSetAddress   = 2
)

// run executes the program. It ends where nothing can be made of it.
func (p *lineProgram) run() {
	c := &p.c
	p.reset()
	for c.More() && len(p.t.rows) < maxLineRows {
		op := c.Byte()
		if op >= p.opBase {
			// Special opcodes, which most of a program is, advance address and line in one byte.
			special := uint64(op - p.opBase)
			p.advance(special / p.lineSpan)
			p.line += uint64(p.lineBase + int64(special%p.lineSpan))
			p.emit()
			continue
		}
		switch op {
		case opExtended:
			p.extended()
		case opCopy:
			p.emit()
		case opAdvancePC:
			p.advance(c.ULEB())
		case opAdvanceLine:
			p.line += uint64(c.SLEB())
		case opSetFile:
			p.row.file = uint16(min(c.ULEB(), maxLineFiles))
		case opSetColumn:
			p.row.column = uint16(min(c.ULEB(), 1<<16-1))
		case opConstAddPC:
			p.advance(uint64(255-p.opBase) / p.lineSpan)
		case opFixedAdvance:
			p.row.addr += c.Uint(2)
			p.op = 0
		default:
			// Opcodes that have no effect on rows, or came later: the header says how long they
			// are.
			for range p.lengths[op-1] {
				c.ULEB()
			}
		}
	}
}

// extended executes an operation that has its length in front, so that unknown ones are passed.
func (p *lineProgram) extended() {
	c := &p.c
	size := c.ULEB()
	if size > uint64(c.Left()) || size == 0 {
		c.Bad = true
		return
	}
	next := c.At + int(size)
	switch c.Byte() {
	case opEndSequence:
		p.end()
	case opSetAddress:
		if n := int(size) - 1; n > 0 && n <= 8 {
			p.row.addr, p.op = c.Uint(n), 0
		}
	}
	c.At = next
}

// reset is the state that a sequence begins with.
func (p *lineProgram) reset() {
	p.row, p.line, p.op = lineRow{file: 1}, 1, 0
	p.first = len(p.t.rows)
}

// advance goes on by operations, several of which can be in one instruction.
func (p *lineProgram) advance(n uint64) {
	p.row.addr += p.minInst * ((p.op + n) / p.maxOps)
	p.op = (p.op + n) % p.maxOps
}

// emit adds a row. A line beyond 32 bits is of a malformed file, and stands for none.
func (p *lineProgram) emit() {
	p.row.line = 0
	if p.line < 1<<32 {
		p.row.line = uint32(p.line)
	}
	p.t.rows = append(p.t.rows, p.row)
}

// end finishes a sequence. Functions that the linker has left out are at address 0. Their rows
// would cover others'.
func (p *lineProgram) end() {
	rows := p.t.rows[p.first:]
	if len(rows) > 0 && rows[0].addr != 0 && rows[0].addr < p.row.addr {
		p.t.seqs = append(p.t.seqs, sequence{rows[0].addr, p.row.addr, p.first, len(p.t.rows)})
	} else {
		p.t.rows = p.t.rows[:p.first]
	}
	p.reset()
}
