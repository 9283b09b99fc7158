// Package exe reads one ELF file: function symbols, addresses and file
// offsets, build IDs and USDT probes, and finds the files that scripts name.
//
// Files belong to others, who may change and cut them short at any time: nothing
// is mapped, what is needed is copied once (content), within bounds and without
// trusting any field. Symbol tables are scanned in place, without a copy of each
// symbol.
// Both classes and both byte orders are understood.
//
// Terms: an address is a virtual address in the file's own numbering (what
// nm prints), an offset is a position in the file (what uprobes attach to).
package exe
