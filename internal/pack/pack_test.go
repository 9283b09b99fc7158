package pack

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestPack(t *testing.T) {
	for _, text := range []string{"", "x", strings.Repeat("a tool of hawk\n", 1000)} {
		data, err := Pack([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		files := fstest.MapFS{"a.z": {Data: data}, "cut.z": {Data: data[:len(data)-1]}}
		if got, err := File(files, "a.z"); err != nil || string(got) != text {
			t.Errorf("%d bytes: %d, %v", len(text), len(got), err)
		}
		if _, err := File(files, "cut.z"); err == nil {
			t.Errorf("%d bytes: the end is not missed", len(text))
		}
	}
	if _, err := File(fstest.MapFS{}, "none.z"); err == nil {
		t.Error("none")
	}
}
