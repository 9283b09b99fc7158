package unwind

import "github.com/hawktrace/hawk/internal/cursor"

// A reader takes values off bytes.
type reader struct{ cursor.Cursor }

func newReader(data []byte, at int) reader { return reader{cursor.Cursor{Data: data, At: at}} }

// value reads a number in one of the formats of addresses.
func (r *reader) value(format byte) uint64 {
	switch format {
	case peAbsolute, peU8, peS8:
		return r.Uint(8)
	case peULEB:
		return r.ULEB()
	case peSLEB:
		return uint64(r.SLEB())
	case peU2:
		return r.Uint(2)
	case peS2:
		return uint64(int16(r.Uint(2)))
	case peU4:
		return r.Uint(4)
	case peS4:
		return uint64(int32(r.Uint(4)))
	}
	// Other formats are of no compiler; what follows cannot be found then.
	r.Bad = true
	return 0
}
