package arch

// callNames are system calls that programs know by another name than their
// tracepoints.
var callNames = map[string]string{
	"newstat": "stat", "newfstat": "fstat", "newlstat": "lstat", "newuname": "uname", "sendfile64": "sendfile",
	"umount": "umount2",
}

// SyscallNames are the names of an architecture's system calls by their
// numbers, "" for a number that has none.
func SyscallNames(goarch string) []string {
	numbers, ok := syscallNumbers[goarch]
	if !ok {
		return nil
	}
	var out []string
	for name, n := range numbers() {
		for len(out) <= n {
			out = append(out, "")
		}
		if other, ok := callNames[name]; ok {
			name = other
		}
		out[n] = name
	}
	return out
}
