package machine

import (
	"bytes"
	"encoding/hex"

	"github.com/hawktrace/hawk/internal/exe"
)

// KernelImage opens the image of the kernel that has its debug information, by
// build ID in the directories of DebugDirs and where distributions put it; nil
// if there is none. The caller closes it.
func (t *Machine) KernelImage() *exe.File {
	notes, err := t.read("/sys/kernel/notes")
	if err != nil {
		return nil
	}
	id := exe.KernelBuildID(notes)
	if len(id) < 2 {
		return nil
	}
	h := hex.EncodeToString(id)
	byID := "/.build-id/" + h[:2] + "/" + h[2:] + ".debug"
	var paths []string
	for _, d := range t.DebugDirs {
		paths = append(paths, d.Path+byID)
	}
	paths = append(paths, "/usr/lib/debug"+byID)
	for _, path := range append(paths, t.vmlinuxPaths()...) {
		e, err := exe.Open(path)
		if err != nil {
			continue
		}
		if bytes.Equal(e.BuildID(), id) && e.HasDebugInfo() {
			return e
		}
		e.Close()
	}
	return nil
}
