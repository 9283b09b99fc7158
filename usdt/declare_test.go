package usdt

import (
	"strings"
	"testing"
)

// same takes what can be the argument of a mark.
func same[T Arg](v T) T { return v }

// Marks are declared with up to six Go values or twelve words; that nobody traces them costs nothing.
func TestDeclared(t *testing.T) {
	p := New("declared")
	none := NewMark0(p, "none")
	one := NewMark1[bool](p, "one")
	two := NewMark2[string, int8](p, "two")
	three := NewMark3[uint8, int16, uint16](p, "three")
	four := NewMark4[int32, uint32, float32, float64](p, "four")
	five := NewMark5[int, uint, int64, uint64, uintptr](p, "five")
	six := NewMark6[string, string, string, string, string, []byte](p, "six")
	words := p.Mark("words", Int8, Uint8, Int16, Uint16, Int32, Uint32, Int64, Uint64)
	load(t, p)
	n := testing.AllocsPerRun(100, func() {
		none.Fire()
		one.Fire(same(true))
		two.Fire("text", -1)
		three.Fire(1, 2, 3)
		four.Fire(1, 2, 3, 4)
		five.Fire(1, 2, 3, 4, 5)
		six.Fire("a", "b", "c", "d", "e", nil)
		words.Fire(1, 2, 3, 4, 5, 6, 7, 8)
	})
	if n != 0 {
		t.Errorf("%v allocations while nobody traces", n)
	}
	traced := func(
		*Mark0, *Mark1[bool], *Mark2[string, int8], *Mark3[uint8, int16, uint16],
		*Mark4[int32, uint32, float32, float64],
		*Mark5[int, uint, int64, uint64, uintptr], *Mark6[string, string, string, string, string, []byte],
	) bool {
		return none.Enabled() || one.Enabled() || two.Enabled() || three.Enabled() ||
			four.Enabled() || five.Enabled() || six.Enabled() || words.Enabled()
	}
	if traced(none, one, two, three, four, five, six) {
		t.Error("somebody traces")
	}
	declared := 0
	for m := range Marks() {
		if m.Provider == "declared" {
			declared++
		}
	}
	if declared != 8 {
		t.Errorf("%d marks", declared)
	}
}

// TestZeroProvider: a provider that New has not made takes no marks, since it has no name.
func TestZeroProvider(t *testing.T) {
	for _, p := range []*Provider{nil, {}} {
		func() {
			defer func() {
				if text, _ := recover().(string); !strings.Contains(text, "New") {
					t.Errorf("%q", text)
				}
			}()
			NewMark0(p, "m")
		}()
	}
}

// TestZeroMarks: marks and providers that nobody has declared do nothing. A struct of marks that is
// filled only where there is to be tracing is one.
func TestZeroMarks(t *testing.T) {
	var marks struct {
		words Mark
		none  Mark0
		one   Mark1[string]
		two   Mark2[int, []byte]
		three Mark3[int, int, int]
		four  Mark4[int, int, int, int]
		five  Mark5[int, int, int, int, int]
		six   Mark6[int, int, int, int, int, string]
	}
	marks.words.Fire(1, 2)
	marks.none.Fire()
	marks.one.Fire("a")
	marks.two.Fire(1, []byte("b"))
	marks.three.Fire(1, 2, 3)
	marks.four.Fire(1, 2, 3, 4)
	marks.five.Fire(1, 2, 3, 4, 5)
	marks.six.Fire(1, 2, 3, 4, 5, "c")
	if marks.words.Enabled() || marks.none.Enabled() || marks.six.Enabled() {
		t.Error("a mark that is not declared is traced")
	}
	var p Provider
	if err := p.Load(nil); err == nil || !strings.Contains(err.Error(), "New") {
		t.Errorf("loading no provider: %v", err)
	}
	if err := p.Close(); err != nil || p.Path() != "" {
		t.Errorf("closing no provider: %v, %q", err, p.Path())
	}
}
