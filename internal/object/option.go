package object

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
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

// Merge takes in another place that names the option. Two places must agree on default and
// text.
func (o *Option) Merge(other *Option, ds *source.Diagnostics) {
	differ := ""
	if !types.Same(o.Type, other.Type) || !bytes.Equal(o.Default, other.Default) {
		differ = "defaults"
	}
	switch {
	case o.Doc == "":
		o.Doc = other.Doc
	case differ == "" && other.Doc != "" && other.Doc != o.Doc:
		differ = "descriptions"
	}
	if differ != "" {
		ds.Errorf("option-mismatch", other.At, "Option --%s has different %s", o.Name, differ).
			Note(o.At, "it was first used here")
	}
}

// Parse reads a value of the option, as Set takes it. given says that there is a text: of
// an option that is a bool none is needed.
func (o *Option) Parse(text string, given bool) ([]byte, error) {
	if s, ok := o.Type.(*types.String); ok {
		if !given {
			return nil, fmt.Errorf("expects a string")
		}
		if len(text) >= s.Cap {
			return nil, fmt.Errorf("is longer than max_strlen (%d)", s.Cap)
		}
		return []byte(text), nil
	}
	if o.Type == types.Bool {
		switch strings.ToLower(text) {
		case "true", "1":
			return []byte{1}, nil
		case "false", "0":
			return nil, nil
		}
		return nil, fmt.Errorf("invalid bool (value: %s)", text)
	}
	if !given {
		return nil, fmt.Errorf("expects an integer (value: %s)", text)
	}
	n, negative, err := syntax.ParseSigned(text)
	signed := o.Type == types.Type(types.Int64)
	if err != nil || negative && !signed || !negative && signed && n > math.MaxInt64 {
		return nil, fmt.Errorf("invalid integer (value: %s)", text)
	}
	if negative {
		n = -n
	}
	return binary.NativeEndian.AppendUint64(nil, n), nil
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
