package object

import (
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/types"
)

// An Option is a named parameter of the script. Its value lies in the data map
// and is that of the command line, or else the default, when programs load.
type Option struct {
	Name    string // without dashes
	Doc     string
	Type    types.Type // bool, int64, uint64 or a string
	Default []byte     // as it lies in memory, without padding
	Offset  int        // in the data map
	At      source.Span
}

// Set gives an option a value of as many bytes as its type has, or less.
func (d *Data) Set(o *Option, value []byte) {
	end := o.Offset + o.Type.Size()
	if len(d.Init) < end {
		d.Init = append(d.Init, make([]byte, end-len(d.Init))...)
	}
	clear(d.Init[o.Offset:end])
	copy(d.Init[o.Offset:end], value)
}
