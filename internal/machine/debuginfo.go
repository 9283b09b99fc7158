package machine

import "github.com/hawktrace/hawk/internal/dwarf"

// A debugInfo is what Debug has found for a program.
type debugInfo struct {
	file *dwarf.File
	err  error
}

// Debug is the debug information of a program. root is put in front of
// absolute paths of separate debug files: "" or /proc/PID/root. Nobody closes it: types
// returned from it refer to it, and it is closed with the last of them and the machine.
func (t *Machine) Debug(path, root string) (*dwarf.File, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	// Errors are kept, too: a script asks for the same file in every pass.
	d, ok := t.debug[path]
	if !ok {
		// Types of the file go into programs and values of which nobody knows when the last is
		// gone.
		d.file, d.err = dwarf.OpenLoose(path, root, t.DebugDirs...)
		if t.debug == nil {
			t.debug = map[string]debugInfo{}
		}
		t.debug[path] = d
	}
	if d.err == nil {
		// A portable program is good only where the file is the same.
		d.err = t.Same(path)
	}
	return d.file, d.err
}
