package btf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	cbtf "github.com/cilium/ebpf/btf"

	"github.com/hawktrace/hawk/internal/hawktest/bound"
	"github.com/hawktrace/hawk/internal/types"
)

// sample is a small kernel.
func sample(t testing.TB) []byte {
	char := &cbtf.Int{Name: "char", Size: 1, Encoding: cbtf.Signed}
	u8 := &cbtf.Int{Name: "unsigned char", Size: 1}
	i32 := &cbtf.Int{Name: "int", Size: 4, Encoding: cbtf.Signed}
	u32 := &cbtf.Int{Name: "unsigned int", Size: 4}
	u64 := &cbtf.Int{Name: "long unsigned int", Size: 8}
	boolean := &cbtf.Int{Name: "_Bool", Size: 1, Encoding: cbtf.Bool}
	pid := &cbtf.Typedef{Name: "pid_t", Type: i32}
	state := &cbtf.Enum{Name: "state", Size: 4,
		Values: []cbtf.EnumValue{{Name: "RUNNING", Value: 0}, {Name: "DEAD", Value: 64}}}
	big := &cbtf.Enum{Name: "big", Size: 8, Values: []cbtf.EnumValue{{Name: "HUGE", Value: 1 << 40}}}
	task := &cbtf.Struct{Name: "task", Size: 104}
	inner := &cbtf.Union{Size: 8, Members: []cbtf.Member{
		{Name: "word", Type: u64},
		{Name: "half", Type: u32},
	}}
	proto := &cbtf.FuncProto{Return: i32, Params: []cbtf.FuncParam{{Name: "t", Type: &cbtf.Pointer{Target: task}}}}
	task.Members = []cbtf.Member{
		{Name: "comm", Type: &cbtf.Array{Index: u32, Type: char, Nelems: 16}},
		{Name: "mac", Type: &cbtf.Array{Index: u32, Type: u8, Nelems: 6}, Offset: 16 * 8},
		{Name: "alive", Type: boolean, Offset: 22 * 8},
		{Name: "pid", Type: pid, Offset: 24 * 8},
		{Name: "flag_a", Type: u32, Offset: 28 * 8, BitfieldSize: 1},
		{Name: "flag_b", Type: u32, Offset: 28*8 + 1, BitfieldSize: 3},
		{Type: inner, Offset: 32 * 8},
		{Name: "parent", Type: &cbtf.Pointer{Target: task}, Offset: 40 * 8},
		{Name: "name", Type: &cbtf.Pointer{Target: &cbtf.Const{Type: char}}, Offset: 48 * 8},
		{Name: "ubuf", Type: &cbtf.Pointer{Target: &cbtf.TypeTag{Value: "user", Type: char}}, Offset: 56 * 8},
		{Name: "fn", Type: &cbtf.Pointer{Target: proto}, Offset: 64 * 8},
		{Name: "state", Type: state, Offset: 72 * 8},
		{Name: "data", Type: &cbtf.Pointer{Target: (*cbtf.Void)(nil)}, Offset: 80 * 8},
		{Name: "other", Type: &cbtf.Pointer{Target: &cbtf.Fwd{Name: "hidden"}}, Offset: 88 * 8},
		{Name: "tail", Type: &cbtf.Array{Index: u32, Type: u64, Nelems: 0}, Offset: 104 * 8},
	}
	task.Members[12].Type = &cbtf.Pointer{Target: &cbtf.Void{}}
	probe := &cbtf.FuncProto{Return: i32, Params: []cbtf.FuncParam{
		{Name: "__data", Type: &cbtf.Pointer{Target: &cbtf.Void{}}}, {Name: "preempt", Type: boolean},
		{Name: "prev", Type: &cbtf.Pointer{Target: task}},
	}}
	nameless := &cbtf.FuncProto{Return: &cbtf.Void{},
		Params: []cbtf.FuncParam{{Type: &cbtf.Pointer{Target: &cbtf.Void{}}}, {Type: u64}}}
	b, err := cbtf.NewBuilder([]cbtf.Type{
		task, big, pid,
		&cbtf.Func{Name: "wake_up", Type: proto, Linkage: cbtf.StaticFunc},
		&cbtf.Func{Name: "__traceiter_switch", Type: probe, Linkage: cbtf.StaticFunc},
		&cbtf.Typedef{Name: "btf_trace_switch", Type: &cbtf.Pointer{Target: probe}},
		&cbtf.Typedef{Name: "btf_trace_bare", Type: &cbtf.Pointer{Target: nameless}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	blob, err := b.Marshal(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return blob
}

func spec(t testing.TB, blob []byte) *Spec {
	s, err := Parse("vmlinux", blob, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFields(t *testing.T) {
	s := spec(t, sample(t))
	id, err := s.Find("task", Set(Struct))
	if err != nil {
		t.Fatal(err)
	}
	typ, err := s.Type(id)
	if err != nil {
		t.Fatal(err)
	}
	task := typ.(*types.Struct)
	if task.BTFID != id || task.Size() != 104 || task.Align() != 8 {
		t.Errorf("%+v", task)
	}
	for _, c := range []struct{ name, typ, place string }{
		{"comm", "string[16]", "0"},
		{"mac", "uint8[6]", "16"},
		{"alive", "bool", "22"},
		{"pid", "int32", "24"},
		{"flag_a", "uint32", "28 0:1"},
		{"flag_b", "uint32", "28 1:3"},
		{"word", "uint64", "32"},
		{"half", "uint32", "32"},
		{"parent", "struct task *", "40"},
		{"name", "int8 *", "48"},
		{"ubuf", "int8 * user", "56"},
		{"fn", "void *", "64"},
		{"state", "enum state", "72"},
		{"data", "void *", "80"},
		{"other", "struct hidden *", "88"},
		{"tail", "uint64[]", "104"},
	} {
		f, ok := task.Field(c.name)
		if !ok {
			t.Errorf("no field %s", c.name)
			continue
		}
		typ, place := f.Type.String(), fmt.Sprint(f.Offset)
		if p, ok := f.Type.(*types.Pointer); ok && p.Space != types.Unset {
			typ += " " + p.Space.String()
		}
		if f.BitSize > 0 {
			place += fmt.Sprintf(" %d:%d", f.BitOffset, f.BitSize)
		}
		if typ != c.typ || place != c.place {
			t.Errorf("%s: %s at %s, want %s at %s", c.name, typ, place, c.typ, c.place)
		}
	}
}

// Names are found by scanning first and through the table later, with the
// same answers.
func TestFind(t *testing.T) {
	s := spec(t, sample(t))
	for round := range 2 * scansBeforeTable {
		for _, c := range []struct {
			name  string
			kinds Kinds
			ok    bool
		}{
			{"task", Set(Struct), true},
			{"task", Set(Union), false},
			{"ask", Set(Struct), false},
			{"wake_up", Set(Func), true},
			{"pid_t", Set(Typedef), true},
			{"state", Set(Enum), true},
			{"", Set(Struct), false},
			{"a\x00b", Set(Struct), false},
			{"RUNNING", Set(Enum), false},
		} {
			id, err := s.Find(c.name, c.kinds)
			if (err == nil) != c.ok || !c.ok && !errors.Is(err, ErrNotFound) {
				t.Errorf("round %d, %q: %d, %v", round, c.name, id, err)
			}
		}
	}
	if s.table == nil {
		t.Error("no table was built")
	}
	for _, c := range []struct {
		name string
		want int64
	}{{"DEAD", 64}, {"HUGE", 1 << 40}} {
		if _, v, err := s.FindEnumerator(c.name); err != nil || v != c.want {
			t.Errorf("%s is %d, %v", c.name, v, err)
		}
	}
	if _, _, err := s.FindEnumerator("task"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a struct is an enumerator: %v", err)
	}
}

func TestFunctions(t *testing.T) {
	s := spec(t, sample(t))
	f, err := s.FuncProto("wake_up")
	if err != nil || len(f.Params) != 1 || f.Params[0].Name != "t" ||
		f.Result != types.Type(types.Int32) || f.Module != "vmlinux" {
		t.Errorf("wake_up: %+v, %v", f, err)
	}
	f, id, err := s.RawTracepoint("switch")
	if err != nil || id == 0 || len(f.Params) != 2 || f.Params[0].Name != "preempt" || f.Params[1].Name != "prev" {
		t.Errorf("switch: %+v, %v", f, err)
	}
	f, _, err = s.RawTracepoint("bare")
	if err != nil || len(f.Params) != 1 || f.Params[0].Name != "arg0" {
		t.Errorf("bare: %+v, %v", f, err)
	}
	if _, _, err := s.RawTracepoint("none"); !errors.Is(err, ErrNotFound) {
		t.Errorf("none: %v", err)
	}
	var events []string
	s.EachRawTracepoint(func(e []byte) bool { events = append(events, string(e)); return true })
	if strings.Join(events, " ") != "switch bare" {
		t.Errorf("events %q", events)
	}
}

func TestDefinition(t *testing.T) {
	s := spec(t, sample(t))
	id, _ := s.Find("task", Set(Struct))
	got, err := s.Definition(id)
	if err != nil {
		t.Fatal(err)
	}
	const want = `struct task {
	char comm[16];
	unsigned char mac[6];
	_Bool alive;
	pid_t pid;
	unsigned int flag_a: 1;
	unsigned int flag_b: 3;
	union {
		long unsigned int word;
		unsigned int half;
	};
	struct task *parent;
	const char *name;
	char *ubuf;
	int (*fn)(struct task *t);
	enum state state;
	void *data;
	struct hidden *other;
	long unsigned int tail[0];
};
`
	if got != want {
		t.Errorf("got\n%s", got)
	}
	id, _ = s.Find("state", Set(Enum))
	if got, _ := s.Definition(id); got != "enum state {\n\tRUNNING = 0,\n\tDEAD = 64,\n};\n" {
		t.Errorf("got\n%s", got)
	}
	id, _ = s.Find("wake_up", Set(Func))
	params, result, err := s.Signature(id)
	if err != nil || len(params) != 1 || params[0] != (Decl{"struct task *", "t"}) || result != "int" {
		t.Errorf("%v %s %v", params, result, err)
	}
}

// Spaces are where the kernel's own dumper has them: in front of the name of a pointer is none, unless a
// qualifier or a parenthesis comes first.
func TestDeclarators(t *testing.T) {
	u8 := &cbtf.Int{Name: "u8", Size: 1}
	u32 := &cbtf.Int{Name: "u32", Size: 4}
	pointer := func(to cbtf.Type) cbtf.Type { return &cbtf.Pointer{Target: to} }
	array := func(of cbtf.Type) cbtf.Type { return &cbtf.Array{Index: u32, Type: of, Nelems: 2} }
	fixed := &cbtf.Const{Type: pointer(&cbtf.Const{Type: u8})}
	get := &cbtf.FuncProto{Return: pointer(u8), Params: []cbtf.FuncParam{{Type: pointer(u8)}, {Type: fixed}}}
	all := &cbtf.Struct{Name: "all", Size: 64, Members: []cbtf.Member{
		{Name: "fixed", Type: fixed},
		{Name: "list", Type: pointer(fixed), Offset: 64},
		{Name: "twice", Type: pointer(pointer(u8)), Offset: 128},
		{Name: "get", Type: pointer(get), Offset: 192},
		{Name: "names", Type: array(pointer(u8)), Offset: 256},
		{Name: "row", Type: pointer(array(pointer(u8))), Offset: 384},
	}}
	use := &cbtf.Func{Name: "use", Linkage: cbtf.StaticFunc, Type: &cbtf.FuncProto{Return: pointer(fixed),
		Params: []cbtf.FuncParam{{Name: "at", Type: fixed}, {Name: "list", Type: pointer(pointer(u8))}}}}
	b, err := cbtf.NewBuilder([]cbtf.Type{all, use}, nil)
	if err != nil {
		t.Fatal(err)
	}
	blob, err := b.Marshal(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := spec(t, blob)
	id, _ := s.Find("all", Set(Struct))
	got, err := s.Definition(id)
	const want = `struct all {
	const u8 * const fixed;
	const u8 * const *list;
	u8 **twice;
	u8 * (*get)(u8 *, const u8 * const);
	u8 *names[2];
	u8 * (*row)[2];
};
`
	if err != nil || got != want {
		t.Errorf("%v, got\n%s", err, got)
	}
	id, _ = s.Find("use", Set(Func))
	params, result, err := s.Signature(id)
	if err != nil || len(params) != 2 || params[0] != (Decl{"const u8 * const", "at"}) ||
		params[1] != (Decl{"u8 **", "list"}) || result != "const u8 * const *" {
		t.Errorf("%q %q %v", params, result, err)
	}
}

// A rawBlob is a blob written record by record.
type rawBlob struct {
	types []uint32
	strs  string
}

func (b *rawBlob) str(s string) uint32 {
	b.strs += s + "\x00"
	return uint32(len(b.strs) - len(s) - 1)
}

func (b *rawBlob) bytes() []byte {
	out := binary.LittleEndian.AppendUint16(nil, 0xeb9f)
	out = append(out, 1, 0)
	for _, v := range []uint32{24, 0, uint32(4 * len(b.types)), uint32(4 * len(b.types)), uint32(len(b.strs))} {
		out = binary.LittleEndian.AppendUint32(out, v)
	}
	for _, v := range b.types {
		out = binary.LittleEndian.AppendUint32(out, v)
	}
	return append(out, b.strs...)
}

func TestModule(t *testing.T) {
	base := spec(t, sample(t))
	if err := base.reach(math.MaxUint32); err != nil {
		t.Fatal(err)
	}
	task, _ := base.Find("task", Set(Struct))
	// struct mod { struct task *t; }, whose ID is base.count+1.
	b := &rawBlob{}
	name := uint32(len(base.strs)) + b.str("mod")
	member := uint32(len(base.strs)) + b.str("t")
	b.types = []uint32{
		0, uint32(Ptr) << 24, task,
		name, uint32(Struct)<<24 | 1, 8, member, base.count, 0,
	}
	m, err := Parse("mod", b.bytes(), base)
	if err != nil {
		t.Fatal(err)
	}
	id, err := m.Find("mod", Set(Struct))
	if err != nil || id != base.count+1 {
		t.Fatalf("%d, %v", id, err)
	}
	typ, err := m.Type(id)
	if err != nil {
		t.Fatal(err)
	}
	st := typ.(*types.Struct)
	f, ok := st.Field("t")
	if !ok || f.Type.String() != "struct task *" || st.BTFID != 0 {
		t.Errorf("%+v %v", f, ok)
	}
	want, _ := base.Type(task)
	if f.Type.(*types.Pointer).Elem != want {
		t.Error("the module's struct task is another one than the kernel's")
	}
	if id, err := m.Find("wake_up", Set(Func)); err != nil || id >= base.count {
		t.Errorf("function of the base: %d, %v", id, err)
	}
}

func TestMalformed(t *testing.T) {
	loop := &rawBlob{strs: "\x00"}
	s := loop.str("s")
	loop.types = []uint32{
		0, uint32(Ptr) << 24, 1, // 1: pointer to itself
		0, uint32(Typedef) << 24, 2, // 2: typedef of itself
		s, uint32(Struct)<<24 | 2, 8, 0, 3, 0, 0, 3, 0, // 3: struct of two anonymous selves
		0, uint32(Array) << 24, 0, 4, 4, 2, // 4: array of itself
		0, uint32(FuncProto)<<24 | 2, 5, 0, 5, 0, 5, // 5: prototype of itself
	}
	m := spec(t, loop.bytes())
	for id := uint32(1); id <= 7; id++ {
		typ, _ := m.Type(id)
		if st, ok := typ.(*types.Struct); ok {
			st.Field("nothing")
		}
		if n := len((&printer{Spec: m}).text(id)); n > 4<<20 {
			t.Errorf("type %d prints as %d bytes", id, n)
		}
		m.Definition(id)
	}
	for _, bad := range [][]byte{nil, make([]byte, 24),
		[]byte("\x9f\xeb\x01\x00\x18\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")} {
		if _, err := Parse("x", bad, nil); err == nil {
			t.Errorf("%q has no error", bad)
		}
	}
	cut := &rawBlob{strs: "\x00", types: []uint32{0, uint32(Struct)<<24 | 9, 8}}
	if _, err := spec(t, cut.bytes()).Type(1); err == nil {
		t.Error("a struct without its members has no error")
	}
}

func FuzzSpec(f *testing.F) {
	f.Add(sample(f), "task")
	f.Fuzz(func(t *testing.T, blob []byte, name string) {
		bound.Run(t, len(blob), func() { askAll(blob, name) })
	})
}

// askAll asks types for everything.
func askAll(blob []byte, name string) {
	s, err := Parse("vmlinux", blob, nil)
	if err != nil {
		return
	}
	s.Find(name, named)
	s.Find(name, named)
	s.scans = scansBeforeTable
	s.found = nil
	s.Find(name, named)
	s.FindEnumerator(name)
	s.RawTracepoint(name)
	s.FuncProto(name)
	if s.reach(math.MaxUint32) != nil {
		return
	}
	for id := uint32(0); id < min(s.count, 200); id++ {
		typ, err := s.Type(id)
		if st, ok := typ.(*types.Struct); ok && err == nil {
			st.Field(name)
		}
		if id < 20 {
			s.Definition(id)
			s.Signature(id)
		}
	}
}

// Types are found by ID wherever a walk has stopped before.
func TestIndexInParts(t *testing.T) {
	const n = 5*stride + 7
	b := &rawBlob{strs: "\x00"}
	for i := range n {
		b.types = append(b.types, b.str(fmt.Sprint("t", i)), uint32(Struct)<<24, uint32(i))
	}
	for stop := range n {
		s, err := Parse("vmlinux", b.bytes(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if id, err := s.Find(fmt.Sprint("t", stop), Set(Struct)); err != nil || id != uint32(stop+1) {
			t.Fatalf("t%d is %d, %v", stop, id, err)
		}
		if s.count != 0 {
			t.Fatalf("the walk for t%d went to the end", stop)
		}
		for _, id := range []uint32{uint32(stop + 1), 1, n, n - stride, stride, stride + 1, uint32(n - stop)} {
			if r, err := s.record(id); err != nil || r.arg != id-1 {
				t.Fatalf("after t%d, type %d is %d, %v", stop, id, r.arg, err)
			}
		}
		for _, id := range []uint32{n + 1, n + stride, 1 << 31} {
			if _, err := s.record(id); err == nil {
				t.Fatalf("there is a type %d", id)
			}
		}
	}
}
