package machine

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// counted are files of which it is known how many bytes were read of those named.
type counted struct {
	fs.FS
	name string
	read int
	fail int // after so many bytes reading fails; 0: never
}

type countedFile struct {
	fs.File
	in *counted
}

func (c *counted) Open(name string) (fs.File, error) {
	f, err := c.FS.Open(name)
	if err != nil || name != c.name {
		return f, err
	}
	c.read = 0
	return countedFile{f, c}, nil
}

func (f countedFile) Read(p []byte) (int, error) {
	if f.in.fail > 0 && f.in.read >= f.in.fail {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := f.File.Read(p[:min(len(p), 4096)])
	f.in.read += n
	return n, err
}

// TestFunctionsInParts: the list is read as far as a question needs, and answers do not depend on it.
func TestFunctionsInParts(t *testing.T) {
	const n = 40_000
	var list strings.Builder
	for i := range n {
		fmt.Fprintf(&list, "f%d", i)
		if i >= n-2 {
			list.WriteString(" [mod]")
		}
		if i < n-1 {
			list.WriteByte('\n')
		}
	}
	list.WriteString("\nf7 [mod]")
	const name = "sys/kernel/tracing/available_filter_functions"
	files := &counted{name: name, FS: fstest.MapFS{name: {Data: []byte(list.String())},
		"sys/kernel/tracing/events/header_page": {}}}
	m := RecordedIn(files)
	l, err := m.FilterFunctions()
	if err != nil {
		t.Fatal(err)
	}
	const part = 1 << 16
	if !l.Has("", "f1") || !l.Has("vmlinux", "f300") || files.read > part {
		t.Errorf("%d bytes were read for the first names", files.read)
	}
	if !l.Has("", "f12000") || files.read > 3*part {
		t.Errorf("%d bytes were read for a name at %d", files.read, strings.Index(list.String(), "f12000"))
	}
	m.CloseLists()
	for _, i := range []int{0, 9_999, 12_345, 25_000, n - 3} {
		if name := fmt.Sprintf("f%d", i); !l.Has("vmlinux", name) || l.Has("", name+"x") || l.Has("", name[1:]) {
			t.Errorf("%s", name)
		}
	}
	if got := l.Modules("f7"); !slices.Equal(got, []string{"vmlinux", "mod"}) {
		t.Errorf("f7 is in %q", got)
	}
	if got := l.Modules(fmt.Sprintf("f%d", n-1)); !slices.Equal(got, []string{"mod"}) {
		t.Errorf("the last function is in %q", got)
	}
	for i := 0; i < n; i += 7 {
		if !l.Has("", fmt.Sprintf("f%d", i)) {
			t.Fatalf("f%d is missing", i)
		}
	}
	seen := 0
	l.Each(func(_, _ []byte) bool { seen++; return true })
	if seen != n+1 {
		t.Errorf("%d functions", seen)
	}

	files.fail = part + 100
	l, err = RecordedIn(files).FilterFunctions()
	if err != nil {
		t.Fatal(err)
	}
	if !l.Has("", "f1") || l.Has("", "f39000") || !errors.Is(l.Fallback, io.ErrUnexpectedEOF) {
		t.Errorf("a list that cannot be read to its end: %v", l.Fallback)
	}
}
