package exe

import (
	"os"
	"testing"
)

// The frames of this very program, which Go has compiled.
func TestGoFrames(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f := openFile(t, path)
	var last GoFrame
	largest := map[string]int64{}
	f.GoFrames(func(g *GoFrame) bool {
		if g.Start < last.End {
			t.Errorf("%s at %#x, after %s until %#x", g.Func, g.Start, last.Func, last.End)
		}
		if g.Func != last.Func && g.Size != 0 {
			t.Errorf("%s begins with a frame of %d bytes", g.Func, g.Size)
		}
		if g.Func == "runtime.goexit" && !g.First || g.Func == "runtime.systemstack" && !g.Switches {
			t.Errorf("%+v", *g)
		}
		largest[g.Func] = max(largest[g.Func], g.Size)
		last = *g
		return true
	})
	if n := largest["github.com/hawktrace/hawk/internal/exe.withLargeFrame"]; n < 4096 || n > 8192 {
		t.Errorf("a frame of %d bytes", n)
	}
	if len(largest) < 1000 || withLargeFrame(3) != 0 {
		t.Errorf("%d functions", len(largest))
	}
}

//go:noinline
func withLargeFrame(n int) byte {
	var room [4096]byte
	for i := range room {
		room[i] = byte(i * n)
	}
	return room[n*256&4095]
}
