package output

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/hawktrace/hawk/internal/value"
)

// below are the values of a row that have no columns: stacks, and data, each perhaps with how many
// bytes there were, of which the buffer holds the first.
func (r *Row) below(columns []Column) []value.Value { return r.Cells[min(len(columns), len(r.Cells)):] }

// appendBelow adds the lines below a row.
// The words around data are those of sslsniff, which readers of its output look for.
func (r *Row) appendBelow(dst []byte, below []value.Value) []byte {
	for i, v := range below {
		if _, ok := integer(v); ok {
			continue // it is said with the data in front
		}
		data, ok := v.(value.Buffer)
		if !ok {
			for _, frame := range frames(v) {
				dst = append(append(append(dst, "    "...), value.Escape(frame)...), '\n')
			}
			continue
		}
		dst = append(dst, "----- DATA -----\n"...)
		if r.Hex {
			dst = append(dst, hex.Dump(data)...)
		} else {
			dst = appendData(dst, data)
		}
		if cut := missing(data, below[i+1:]); cut > 0 {
			dst = fmt.Appendf(dst, "----- END DATA (%d bytes more) -----\n", cut)
		} else {
			dst = append(dst, "----- END DATA -----\n"...)
		}
	}
	return dst
}

// missing is how many bytes a buffer does not have, if the value behind it says how many there were.
func missing(data value.Buffer, behind []value.Value) uint64 {
	if len(behind) == 0 {
		return 0
	}
	if n, ok := integer(behind[0]); ok && !n.neg && n.mag > uint64(len(data)) {
		return n.mag - uint64(len(data))
	}
	return 0
}

// appendData adds lines of text: what cannot be shown is hexadecimal, the last line ends.
// Nothing in it can reach a terminal as a command.
func appendData(dst []byte, data value.Buffer) []byte {
	start := len(dst)
	for i, c := range data {
		switch {
		case c == '\n' || c == '\t' || c >= ' ' && c <= '~':
			dst = append(dst, c)
		case c == '\r' && i+1 < len(data) && data[i+1] == '\n': // lines of protocols end so
		default:
			dst = fmt.Appendf(dst, "\\x%02x", c)
		}
	}
	if len(dst) > start && dst[len(dst)-1] != '\n' {
		dst = append(dst, '\n')
	}
	return dst
}

// appendBelow adds what stands below a row as members of its object.
// Data is base64, since a string of JSON cannot hold any bytes and be read back by everybody.
func (j *JSON) appendBelow(dst []byte, below []value.Value, member func(dst []byte, key string) []byte) []byte {
	stacks, buffers := 0, 0
	for _, v := range below {
		if _, ok := integer(v); ok {
			continue
		}
		if data, ok := v.(value.Buffer); ok {
			key := "data"
			if buffers++; buffers > 1 {
				key += "_" + strconv.Itoa(buffers)
			}
			dst = append(member(dst, key), '"')
			dst = append(base64.StdEncoding.AppendEncode(dst, data), '"')
			continue
		}
		stacks++
		dst = append(member(dst, "stack_"+strconv.Itoa(stacks)), '[')
		for k, frame := range frames(v) {
			if k > 0 {
				dst = append(dst, ", "...)
			}
			dst = j.text(dst, []byte(frame))
		}
		dst = append(dst, ']')
	}
	return dst
}
