package usdt

import (
	"fmt"
	"reflect"
)

// A Kind is the size and sign of an argument of a Mark.
type Kind int

// The kinds. An address is a Uint64.
const (
	Int8 Kind = iota
	Uint8
	Int16
	Uint16
	Int32
	Uint32
	Int64
	Uint64
)

// size is how many bytes the kind has.
func (k Kind) size() int { return 1 << (k / 2) }

// signed reports whether the kind has a sign.
func (k Kind) signed() bool { return k%2 == 0 }

// Arg is what a mark can have as arguments. Anything else has to be made one of
// these first; ask Enabled before that takes time.
type Arg interface {
	~bool | ~int8 | ~int16 | ~int32 | ~int64 | ~int | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uint | ~uintptr |
		~float32 | ~float64 | ~string | ~[]byte
}

// A form is how an argument of a Go type becomes words.
type form uint8

const (
	int8Form form = iota
	uint8Form
	int16Form
	uint16Form
	int32Form
	uint32Form
	wordForm
	stringForm
	bytesForm
)

// formOf is the form of a type, with the kinds of its words.
func formOf[T Arg]() (form, []Kind) {
	t := reflect.TypeFor[T]()
	switch t.Kind() {
	case reflect.Bool, reflect.Uint8:
		return uint8Form, []Kind{Uint8}
	case reflect.Int8:
		return int8Form, []Kind{Int8}
	case reflect.Int16:
		return int16Form, []Kind{Int16}
	case reflect.Uint16:
		return uint16Form, []Kind{Uint16}
	case reflect.Int32:
		return int32Form, []Kind{Int32}
	case reflect.Uint32:
		return uint32Form, []Kind{Uint32}
	case reflect.Float32: // its bits, as those of a float64 are
		return uint32Form, []Kind{Uint64}
	case reflect.Int64, reflect.Int:
		return wordForm, []Kind{Int64}
	case reflect.Uint64, reflect.Uint, reflect.Uintptr, reflect.Float64:
		return wordForm, []Kind{Uint64}
	case reflect.String:
		return stringForm, []Kind{Uint64}
	case reflect.Slice:
		return bytesForm, []Kind{Uint64, Uint64}
	}
	panic(fmt.Sprintf("usdt: %s is no type of arguments", t)) // Arg has no other
}
