package dwarf

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Every instruction's source is the one that addr2line names, through all that is inlined there.
// With DWARF 5 there are versions of it that name another file than the one that has the line.
func TestAgainstAddr2line(t *testing.T) {
	if _, err := exec.LookPath("addr2line"); err != nil {
		t.Skip("no addr2line")
	}
	path := build(t, "stl.cc", "g++", "-O2", "-std=c++17", "-gdwarf-4", "-ffunction-sections", "-gz")
	f, e := open1(t, path)
	var addrs []uint64
	var ask strings.Builder
	for _, s := range e.Functions(func(name []byte) bool {
		return string(name) == "main" || strings.Contains(string(name), "tally") ||
			strings.Contains(string(name), "sort")
	}) {
		for a := s.Addr; a < s.Addr+s.Size; a++ {
			addrs = append(addrs, a)
			fmt.Fprintf(&ask, "%#x\n", a)
		}
	}
	cmd := exec.Command("addr2line", "-a", "-i", "-e", path)
	cmd.Stdin = strings.NewReader(ask.String())
	out, err := cmd.Output()
	if err != nil || len(addrs) < 500 {
		t.Fatalf("%d addresses, %v", len(addrs), err)
	}
	blocks := strings.Split(string(out), "\n0x")
	if len(blocks) != len(addrs) {
		t.Fatalf("%d answers about %d addresses", len(blocks), len(addrs))
	}
	wrong, inlined := 0, 0
	for i, block := range blocks {
		lines := strings.Split(strings.TrimSpace(block), "\n")[1:]
		var want []string
		for _, line := range lines {
			place, _, _ := strings.Cut(line, " (")
			want = append(want, filepath.Clean(place))
		}
		list, at, err := f.Source(addrs[i])
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, in := range list {
			got = append(got, fmt.Sprintf("%s:%d", in.At.File, in.At.Line))
		}
		got = append(got, fmt.Sprintf("%s:%d", at.File, at.Line))
		inlined = max(inlined, len(list))
		if a, b := strings.Join(got, "\n"), strings.Join(want, "\n"); a != b {
			if wrong++; wrong < 4 {
				t.Errorf("%#x:\n got %s\nwant %s", addrs[i], a, b)
			}
		}
	}
	if wrong > 0 || inlined < 4 {
		t.Errorf("%d of %d are wrong, %d functions are inlined into each other", wrong, len(addrs), inlined)
	}
}
