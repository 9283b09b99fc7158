package exe

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/hawktest/bound"
)

// archive makes a ZIP archive that has content three times: as "lib/plain" at
// the start of a page, as "odd" behind one, compressed as "small".
func archive(t testing.TB, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, m := range []struct {
		name   string
		method uint16
		at     int // in its page
	}{{"lib/plain", zip.Store, 0}, {"odd", zip.Store, 8}, {"small", zip.Deflate, 0}} {
		const header = 30
		page := os.Getpagesize()
		if err := z.Flush(); err != nil {
			t.Fatal(err)
		}
		pad := (m.at - (b.Len()+header+len(m.name))%page + page) % page
		h := &zip.FileHeader{Name: m.name, Method: m.method, Extra: make([]byte, pad)}
		if m.method != zip.Store {
			h.Extra = nil
		}
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write(content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestMember(t *testing.T) {
	e := sampleFile(binary.LittleEndian, true)
	data := archive(t, e.bytes())
	path := filepath.Join(t.TempDir(), "app.apk")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path + "!/lib/plain")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.Start == 0 || f.Start%uint64(os.Getpagesize()) != 0 || !bytes.Equal(data[f.Start:][:4], []byte("\x7fELF")) {
		t.Errorf("begins at %#x", f.Start)
	}
	if s, ok := f.Symbol("a"); !ok || s.Addr != 0x1010 {
		t.Errorf("a: %+v, %v", s, ok)
	}
	for member, want := range map[string]string{
		"odd": "does not begin with a page", "small": "is compressed", "none": "there is no none in it",
	} {
		if _, err := Open(path + "!/" + member); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", member, err, want)
		}
	}
	if _, err := Open(os.Args[0] + "!/x"); err == nil || !strings.Contains(err.Error(), "no ZIP archive") {
		t.Errorf("in a program: %v", err)
	}
	for _, c := range []struct{ name, want string }{{path + "!/lib/plain", path + "!/lib/plain"},
		{path + ".no!/x", ""}} {
		got, err := Search{}.Find(c.name)
		if c.want == "" && err == nil || c.want != "" && (len(got) != 1 || got[0] != c.want) {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
}

func FuzzMember(f *testing.F) {
	f.Add(archive(f, []byte("content")))
	f.Fuzz(func(t *testing.T, data []byte) {
		bound.Run(t, len(data), func() {
			from, size, err := memberData(bytes.NewReader(data), int64(len(data)), "lib/plain")
			if err == nil && (from < 0 || size < 0 || from+size > int64(len(data))) {
				t.Errorf("%d bytes from %d of %d", size, from, len(data))
			}
		})
	})
}
