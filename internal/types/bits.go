package types

// PlaceBits says where in a struct of size bytes a bit-field lies that begins
// bit bits from its start and is n bits wide: in the storage of its declared
// type, unless a packed field straddles that or it reaches past the end of the
// struct. Then the type becomes the narrowest integer that covers the field.
func PlaceBits(f *Field, bit, n, size int) {
	width := f.Type.Size()
	if width > 0 {
		f.Offset = bit / (width * 8) * width
	}
	if width == 0 || bit-f.Offset*8+n > width*8 || f.Offset+width > size {
		f.Offset = bit / 8
		width = 1
		for width < 8 && bit%8+n > width*8 {
			width *= 2
		}
		if f.Offset+width > size {
			f.Offset = max(0, size-width)
		}
		i, ok := IsInteger(f.Type)
		f.Type = IntOf(width, ok && i.Signed)
	}
	f.BitOffset, f.BitSize = bit-f.Offset*8, min(n, 64)
}

// GuessAlign is an alignment that a struct of a size can have, for sources
// that do not record it: it divides the size.
func GuessAlign(size int) int {
	for a := 8; a > 1; a /= 2 {
		if size%a == 0 {
			return a
		}
	}
	return 1
}
