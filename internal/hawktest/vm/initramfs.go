package vm

import (
	"bytes"
	"fmt"
)

// A file is one regular file of an archive.
type file struct {
	name    string
	content []byte
}

// initramfs makes the first root of a machine: the agent as /init, the modules in the order in
// which it loads them, and those that it leaves to the cases. The format is the "newc" one of
// Documentation/driver-api/early-userspace/buffer-format.rst.
func initramfs(agent []byte, modules, spare []file) []byte {
	const dir, regular, device = 0o040755, 0o100755, 0o020600
	var archive bytes.Buffer
	inode := 0
	add := func(name string, mode, major, minor int, content []byte) {
		inode++
		fmt.Fprintf(&archive, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x",
			inode, mode, 0, 0, 1, 0, len(content), 0, 0, major, minor, len(name)+1, 0)
		archive.WriteString(name + "\x00")
		pad(&archive)
		archive.Write(content)
		pad(&archive)
	}
	for _, name := range []string{"dev", "modules", "spare"} {
		add(name, dir, 0, 0, nil)
	}
	add("dev/console", device, 5, 1, nil) // the agent's own output, before it mounts /dev
	add("init", regular, 0, 0, agent)
	for i, m := range modules {
		add(fmt.Sprintf("modules/%02d-%s.ko", i, m.name), regular, 0, 0, m.content)
	}
	for i, m := range spare {
		add(fmt.Sprintf("spare/%02d-%s.ko", i, m.name), regular, 0, 0, m.content)
	}
	inode = -1
	add("TRAILER!!!", 0, 0, 0, nil)
	return archive.Bytes()
}

// pad fills up to a multiple of four bytes.
func pad(b *bytes.Buffer) {
	for b.Len()%4 != 0 {
		b.WriteByte(0)
	}
}
