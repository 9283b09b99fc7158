package symbolize

import (
	"os"
	"testing"
	"time"

	"github.com/hawktrace/hawk/internal/exe"
)

// Files that were not used for a while are closed as soon as they take more than a little; those
// in use may take much.
func TestIdleFiles(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	u := NewUser()
	defer u.Close()
	u.looked = time.Now()
	all := int64(0)
	for all <= 2*maxIdle {
		elf, err := exe.OpenFile(self)
		if err != nil {
			t.Fatal(err)
		}
		u.clock++
		f := &file{elf: elf, table: exe.NewTable(elf), used: u.clock, looked: u.looked}
		all += f.memory()
		u.add(fileID{ino: u.clock}, f)
	}
	open := func() (n int, memory int64) {
		for _, f := range u.files {
			n++
			memory += f.memory()
		}
		return n, memory
	}
	u.trimFiles()
	if n, _ := open(); uint64(n) != u.clock {
		t.Errorf("%d of %d files in use are open", n, u.clock)
	}
	u.looked = u.looked.Add(idle)
	last := u.files[fileID{ino: u.clock}]
	last.looked = u.looked
	u.trimFiles()
	if n, memory := open(); n < 2 || memory-last.memory() > maxIdle {
		t.Errorf("%d files are open, which take %d bytes", n, memory)
	}
	if last.closed {
		t.Error("a file in use was closed")
	}
}
