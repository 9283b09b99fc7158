package value

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/hawktrace/hawk/internal/types"
)

// TestPlan has plans yield what the format does with the bytes of each argument, whatever the
// types, the conversions and the records are.
func TestPlan(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	kinds := []types.Type{
		types.Int8, types.Uint8, types.Int16, types.Uint16, types.Int32, types.Uint32, types.Int64, types.Uint64,
		types.Bool,
		&types.Pointer{Elem: types.Void}, &types.String{Cap: 8}, &types.String{Cap: 8, Trunc: true},
		&types.String{Cap: 16, Trunc: true, Marked: true}, &types.String{}, &types.Buffer{Cap: 6},
		types.NewTuple(types.Int32, &types.String{Cap: 4}),
	}
	verbs := []string{"d", "u", "s", "hd", "hhu", "ld", "llu", "x", "5d", "-7s", ".2s", "p", "c", "r", "%"}
	for range 20_000 {
		text := "<"
		slots := make([]Slot, random.IntN(4))
		rec := make([]byte, random.IntN(64))
		for i := range rec {
			rec[i] = byte(random.IntN(256)) * byte(random.IntN(2))
		}
		for i := range slots {
			kind := kinds[random.IntN(len(kinds))]
			s := Slot{Type: kind, Offset: random.IntN(72) - 4, Size: kind.Size()}
			if _, ok := kind.(*types.String); ok && random.IntN(2) == 0 {
				if s.Tail = true; s.Offset >= 0 && s.Offset+8 <= len(rec) {
					binary.NativeEndian.PutUint32(rec[s.Offset:], uint32(random.IntN(70)))
					binary.NativeEndian.PutUint32(rec[s.Offset+4:], uint32(random.IntN(20)))
				}
				if at := random.IntN(64); at+len(types.Unreadable) <= len(rec) {
					copy(rec[at:], types.Unreadable)
				}
			}
			slots[i] = s
			text += "%" + verbs[random.IntN(len(verbs))] + []string{"", "|", " and "}[random.IntN(3)]
		}
		f, err := ParseFormat(text)
		if err != nil {
			t.Fatal(text, err)
		}
		args := make([]Arg, len(slots))
		for i := range slots {
			args[i] = Arg{slots[i].Type, slots[i].Bytes(rec)}
		}
		for _, env := range []Env{nil, fakeEnv{}} {
			p := f.Plan(slots)
			if got, want := p.Append(nil, rec, env), f.Append(nil, args, env); string(got) != string(want) {
				t.Fatalf("%q of %x by %+v: %q, want %q", text, rec, slots, got, want)
			}
			got, want := p.AppendEscaped(nil, rec, env), f.AppendEscaped(nil, args, env)
			if string(got) != string(want) {
				t.Fatalf("%q of %x by %+v, escaped: %q, want %q", text, rec, slots, got, want)
			}
		}
	}
}

// usual is the plan of a format, and a record for it: 4 bytes, a text of 16, 4 bytes.
func usual(t testing.TB, format string) (*Plan, []byte) {
	f, err := ParseFormat(format)
	if err != nil {
		t.Fatal(err)
	}
	rec := make([]byte, 32)
	binary.NativeEndian.PutUint32(rec[4:], 4211)
	copy(rec[8:], "some-command")
	binary.NativeEndian.PutUint32(rec[24:], 4212)
	return f.Plan([]Slot{
		{Type: types.Uint32, Offset: 4, Size: 4}, {Type: &types.String{Cap: 16}, Offset: 8, Size: 16},
		{Type: types.Uint32, Offset: 24, Size: 4},
	}), rec
}

func TestPlanDoesNotAllocate(t *testing.T) {
	p, rec := usual(t, "%d %s %-20d\n")
	dst := make([]byte, 0, 256)
	if n := testing.AllocsPerRun(100, func() { dst = p.Append(dst[:0], rec, nil) }); n != 0 {
		t.Errorf("%v allocations for %q", n, dst)
	}
	if p.Plain() {
		t.Error("a number with a width is plain")
	}
}

func BenchmarkPlan(b *testing.B) {
	p, rec := usual(b, "%d %s %d\n")
	dst := make([]byte, 0, 256)
	for b.Loop() {
		dst = p.Append(dst[:0], rec, nil)
	}
}
