package vm

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFindKernel(t *testing.T) {
	for _, k := range Kernels {
		got, err := FindKernel(k.Name)
		if err != nil || got != k {
			t.Errorf("FindKernel(%q) = %v, %v", k.Name, got, err)
		}
	}
	if _, err := FindKernel("4.4"); err == nil || !strings.Contains(err.Error(), "6.12") {
		t.Errorf("FindKernel(4.4): error %v does not list what there is", err)
	}
}

// TestInitramfs reads an archive back by the format's own rules.
func TestInitramfs(t *testing.T) {
	archive := string(initramfs([]byte("agent!"),
		[]file{{"virtio", []byte("first")}, {"virtio_blk", []byte("second module")}},
		[]file{{"null", []byte("third")}}))
	type entry struct {
		Name, Content string
		Mode          int64
	}
	var got []entry
	for pos := 0; pos < len(archive); {
		if !strings.HasPrefix(archive[pos:], "070701") {
			t.Fatalf("no header at %d", pos)
		}
		field := func(i int) int64 {
			n, err := strconv.ParseInt(archive[pos+6+8*i:pos+14+8*i], 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		align := func(n int) int { return (n + 3) &^ 3 }
		name := pos + 110
		content := align(name + int(field(11)))
		end := content + int(field(6))
		got = append(got, entry{strings.TrimRight(archive[name:name+int(field(11))], "\x00"),
			archive[content:end], field(1)})
		pos = align(end)
	}
	want := []entry{
		{"dev", "", 0o040755}, {"modules", "", 0o040755}, {"spare", "", 0o040755},
		{"dev/console", "", 0o020600}, {"init", "agent!", 0o100755},
		{"modules/00-virtio.ko", "first", 0o100755},
		{"modules/01-virtio_blk.ko", "second module", 0o100755}, {"spare/00-null.ko", "third", 0o100755},
		{"TRAILER!!!", "", 0},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
