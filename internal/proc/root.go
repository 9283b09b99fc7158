package proc

import (
	"os"
	"path"
	"strings"
)

// Resolve follows the symbolic links in an absolute path as a process does whose
// root directory hawk sees at root, and returns the path as hawk sees it. Opened
// as it is, an absolute link in /proc/PID/root would lead out of there. Links
// that lead nowhere or in circles are left as they are.
func Resolve(root, name string) string {
	const most = 40 // links, as in the kernel
	done, rest := "/", strings.TrimPrefix(path.Clean(name), "/")
	for links := 0; rest != ""; {
		first, after, _ := strings.Cut(rest, "/")
		next := path.Join(done, first)
		to, err := os.Readlink(root + next)
		if err != nil || links == most {
			done, rest = next, after
			continue
		}
		links++
		if path.IsAbs(to) {
			done = "/"
		}
		// The parent of the root is the root.
		rest = strings.TrimPrefix(path.Join(path.Join("/", done, to), after), "/")
		done = "/"
	}
	return root + done
}
