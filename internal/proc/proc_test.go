package proc

import (
	"bytes"
	"math"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestParseMaps(t *testing.T) {
	text := "55d0c0a00000-55d0c0a21000 r-xp 00002000 fe:01 1234                      /usr/bin/my prog\n" +
		"7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n" +
		"7f0000001000-7f0000002000 rw-s 00000000 00:05 77 /memfd:x (deleted)\n" +
		"7ffc0000-7ffd0000 r-xp 00000000 00:00 0                          [vdso]\n" +
		"garbage\n" +
		"zz-7ffd0000 r-xp 00000000 00:00 0\n"
	maps, err := parseMaps(strings.NewReader(text), false, math.MaxInt)
	if err != nil {
		t.Fatal(err)
	}
	want := []Mapping{
		{0x55d0c0a00000, 0x55d0c0a21000, 0x2000, true, false, unix.Mkdev(0xfe, 1), 1234, "/usr/bin/my prog", false},
		{0x7f0000000000, 0x7f0000001000, 0, false, true, 0, 0, "", false},
		{0x7f0000001000, 0x7f0000002000, 0, false, true, unix.Mkdev(0, 5), 77, "/memfd:x", true},
		{0x7ffc0000, 0x7ffd0000, 0, true, false, 0, 0, "[vdso]", false},
	}
	if len(maps) != len(want) {
		t.Fatalf("%d mappings: %+v", len(maps), maps)
	}
	for i := range want {
		if maps[i] != want[i] {
			t.Errorf("mapping %d\n got %+v\nwant %+v", i, maps[i], want[i])
		}
	}
}

func TestSelf(t *testing.T) {
	pid := os.Getpid()
	exe, err := Exe(pid)
	if err != nil {
		t.Fatal(err)
	}
	files, err := MappedFiles(pid)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, f := range files {
		found = found || f.Path == exe && f.Exec
	}
	if !found {
		t.Errorf("%s is not among %+v", exe, files)
	}
	if !Alive(pid) || Check(pid) != nil {
		t.Errorf("we are dead: %v", Check(pid))
	}
	if Root(pid) != "" {
		t.Errorf("own root is %q", Root(pid))
	}
	if Check(-1) == nil || Check(1<<30) == nil {
		t.Error("no error for impossible processes")
	}
}

func FuzzParseMaps(f *testing.F) {
	f.Add([]byte("55d0c0a00000-55d0c0a21000 r-xp 00002000 fe:01 1234 /usr/bin/x\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		maps, _ := parseMaps(bytes.NewReader(data), false, math.MaxInt)
		for _, m := range maps {
			if m.End < m.Start {
				t.Errorf("%+v", m)
			}
		}
	})
}

func TestCodePages(t *testing.T) {
	maps, err := Maps(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	want := uint64(0)
	for _, m := range maps {
		if m.Exec && !m.Write && m.Start < 1<<63 { // the page of old system calls is nobody's
			want += (m.End - m.Start) / uint64(os.Getpagesize())
		}
	}
	if got := CodePages(os.Getpid()); got != want {
		t.Errorf("%d pages of code, the mappings have %d", got, want)
	}
	if got := CodePages(1 << 30); got != 0 {
		t.Errorf("nobody has %d pages of code", got)
	}
}

func TestMemoryLayout(t *testing.T) {
	l, ok := MemoryLayout(os.Getpid())
	if !ok || l.StartCode >= l.EndCode || l.EndCode > l.StartData || l.StartStack < l.StartData ||
		l.ArgStart < l.StartStack {
		t.Errorf("%+v, %v", l, ok)
	}
	if l, ok := MemoryLayout(2); ok {
		t.Errorf("a kernel thread: %+v", l)
	}
	if _, ok := MemoryLayout(1 << 30); ok {
		t.Error("there is no such process")
	}
}
