package builtin

import (
	"encoding/binary"
	"reflect"
	"testing"

	"github.com/hawktrace/hawk/internal/arch"
	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/value"
)

func TestRenderAddresses(t *testing.T) {
	inet := func(family uint64, addr ...byte) []byte {
		return append(binary.LittleEndian.AppendUint64(nil, family), append(addr, make([]byte, 16-len(addr))...)...)
	}
	for _, c := range []struct {
		by   string
		raw  []byte
		want value.Value
	}{
		{"ntop", inet(2, 127, 0, 0, 1), value.Text("127.0.0.1")},
		{"ntop", inet(10, 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1), value.Text("fe80::1")},
		{"ntop", inet(10), value.Text("::")},
		{"ntop", []byte{2, 0, 0}, value.Null{}},
		{"dnsname", []byte("\x03www\x07example\x00\x03org"), value.Text("www.example")},
		{"dnsname", []byte("\x03www\x09example\x00"), value.Text("www.\texample")},
		{"dnsname", []byte{0, 1, 'a'}, value.Text(".")},
		{"dnsname", nil, value.Text(".")},
		{"macaddr", []byte{0x66, 0x90, 0x0f, 0xae, 0xe8, 0xe9}, value.Text("66:90:0F:AE:E8:E9")},
		{"macaddr", nil, value.Null{}},
	} {
		f, _ := Lookup(c.by)
		if got := f.Render(nil, nil, c.raw); got != c.want {
			t.Errorf("%s of %x is %v, want %v", c.by, c.raw, got, c.want)
		}
	}
}

// TestArguments checks texts of arguments and results, which damaged records give as well.
func TestArguments(t *testing.T) {
	raw := make([]byte, 8*argumentsMost)
	for i, n := range []uint64{1<<32 | 0xfffffffe, 5, 0x1234} {
		binary.NativeEndian.PutUint64(raw[8*i:], n)
	}
	for _, c := range []struct{ described, want string }{
		{"", "(0x1fffffffe, 0x5)"},
		{",", ""},
		{",e0fd,I1count,x2p,", "fd=-2 count=5 p=0x1234"},
		{",i0fd,x6s,B0b,C0h,", "fd=8589934590 s=? b=254 h=65534"},
		{",od,e9fd,e,", "fd=?"},
	} {
		if got := argumentsAsText(c.described, raw, 2); got != c.want {
			t.Errorf("%q shows %q, want %q", c.described, got, c.want)
		}
	}
	for _, c := range []struct {
		letter byte
		kernel bool
		n      uint64
		want   value.Value
	}{
		{'e', true, 0xfffffffe, value.Text("-2(ENOENT)")},
		{'e', false, 0xfffffffe, value.Int(-2)},
		{'x', true, ^uint64(1), value.Text("-2(ENOENT)")},
		{'x', true, 0xffff888000000000, value.Pointer(0xffff888000000000)},
		{'r', true, 0xfffffff3, value.Text("-13(EACCES)")},
		{'r', true, 0xfffff000, value.Int(0xfffff000)},
		{'I', true, 1 << 63, value.Uint(1 << 63)},
		{'v', true, 1, value.Text("-")},
		{0, true, 7, value.Pointer(7)},
	} {
		if got := resultAs(c.letter, c.kernel, c.n); got != c.want {
			t.Errorf("%#x as %c is %v, want %v", c.n, c.letter, got, c.want)
		}
	}
}

func TestParseIP(t *testing.T) {
	for text, want := range map[string][]byte{
		"10.0.0.1": {10, 0, 0, 1},
		"::1":      {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
		"1.2.3":    nil, "fe80::1%eth0": nil, "": nil, "1.2.3.4.5": nil,
	} {
		if got, ok := parseIP(text); !reflect.DeepEqual(got, want) || ok != (want != nil) {
			t.Errorf("parseIP(%q) = %v, %v", text, got, ok)
		}
	}
}

func TestNames(t *testing.T) {
	errno := &nameTable{names: errno.Kernel[:], unknown: "Unknown error", unsigned: true}
	signals := &nameTable{names: signalNames(), unknown: "N/A"}
	calls := &nameTable{names: arch.SyscallNames("amd64"), unknown: "Unknown syscall"}
	for _, c := range []struct {
		t    *nameTable
		n    int64
		want string
	}{
		{errno, 0, "Success"}, {errno, 2, "No such file or directory"}, {errno, -38, "Invalid system call number"},
		{errno, 41, "Unknown error"}, {errno, 134, "Unknown error"}, {errno, -1 << 63, "Unknown error"},
		{signals, 9, "Killed"}, {signals, 0, "Unknown signal 0"}, {signals, 33, "Unknown signal 33"},
		{signals, 34, "Real-time signal 0"},
		{signals, 64, "Real-time signal 30"}, {signals, 65, "N/A"}, {signals, -9, "N/A"},
		{calls, 0, "read"}, {calls, 4, "stat"}, {calls, 257, "openat"}, {calls, 400, "Unknown syscall"},
		{calls, 100000, "Unknown syscall"},
	} {
		if got := c.t.name(c.n); got != c.want {
			t.Errorf("name(%d) = %q, want %q", c.n, got, c.want)
		}
	}
	image, stride := errno.image(), errno.stride()
	if got := string(image[2*stride : 2*stride+25]); got != "No such file or directory" || stride%8 != 0 ||
		len(image) != 135*stride {
		t.Errorf("the table has %q for 2, a stride of %d and %d bytes", got, stride, len(image))
	}
	for name, want := range map[string]int{"KILL": 9, "SIGKILL": 9, "TERM": 15, "kill": 0, "": 0, "SIGSIGKILL": 0} {
		if got := signalNumber(name); got != want {
			t.Errorf("signalNumber(%q) = %d, want %d", name, got, want)
		}
	}
}
