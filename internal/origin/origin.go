// Package origin knows what the process was like when it began, before the Go
// runtime's packages changed it.
//
// It imports nothing: packages without imports are initialized first, and syscall
// raises the limit of open files as it is.
package origin

// files is the limit of open files: what counts, and what it may be raised to.
var files = func() (limit [2]uint64) {
	deepen()
	known = openFiles(&limit) == 0
	return limit
}()

var known bool

// openFiles asks the kernel for the limit of open files; it yields 0 or an error
// below 0.
//
//go:noescape
func openFiles(limit *[2]uint64) int

// deepen gives the main goroutine, while it has few frames, the stack that compiling takes. To
// move its frames each time that it has to be twice as large reads tables all over the
// binary. What of the stack is not used takes no memory.
func deepen()

// OpenFiles is the limit of open files that the process began with, as struct
// rlimit has it, and whether the kernel told it.
func OpenFiles() (limit [2]uint64, ok bool) { return files, known }

// ignored has bit n-1 for each signal n that was ignored. The Go runtime takes signals over before any package is
// initialized, so that entry, which runs before the runtime, has to look.
var ignored uint64

// entry is where the program begins if the linker was told so (-E); it goes on to the runtime's own entry. It has no
// stack of Go's and no other registers than the kernel gives.
func entry()

// Ignored has bit n-1 for each signal n that was ignored when the process began. It is 0 in a program whose
// linker was not told of entry.
func Ignored() uint64 { return ignored }
