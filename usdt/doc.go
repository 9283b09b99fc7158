// Package usdt declares marks in a running Go program, which C has <sys/sdt.h> for.
// A mark is a place with a name and arguments that tracers can attach to.
// Nothing else is needed, neither cgo nor a library nor a special build.
//
// A provider is a group of marks. Declare both as variables, load the provider when the program starts, fire the marks
// where something happens:
//
//	var (
//		provider = usdt.New("shop")
//		sold     = usdt.NewMark2[string, int64](provider, "sold")
//	)
//
//	func main() {
//		if err := provider.Load(nil); err != nil {
//			log.Print(err) // tracing is no reason not to start
//		}
//		…
//		sold.Fire(article, cents)
//
// Any tracer that knows USDT finds the marks of the process and reads their arguments:
//
//	hawk -p PID -e 'usdt:*:shop:sold { printf("%s %d\n", str(arg0), arg1) }'
//	bpftrace -p PID -e 'usdt:*:shop:sold { printf("%s %d\n", str(arg0), arg1) }'
//
// # Cost
//
// A mark that nobody traces costs a test of one word in memory, less than a nanosecond; a Mark6 three,
// since the compiler does not inline its Fire. The word is the mark's semaphore, which the kernel counts
// up while a tracer is attached. Arguments are evaluated by Go in any case; where that is expensive, ask
// Enabled first:
//
//	if failed.Enabled() {
//		failed.Fire(err.Error())
//	}
//
// A mark that is traced costs half a microsecond and more, most of it in the kernel.
//
// # Arguments
//
// Arguments are integers, booleans, floating-point numbers, strings and byte slices, and types made
// of them. They travel in registers; there are twelve, and a byte slice takes two. What a tracer
// sees:
//
//	integers, bool     argN, made 64 bits with their sign; (int32)argN is signed
//	string             str(argN): the address of a copy that ends in NUL; a NUL inside ends it early
//	[]byte             buf(argN, argN+1): the address and the length, not copied
//	float32, float64   argN, the bits: programs in the kernel cannot compute with them
//	pointers           convert to uintptr; ((struct main.Request *)argN) then reads the fields
//
// # How it works
//
// Load writes an ELF file with a small function for each mark, and with the notes by which tracers know marks, maps
// it, and that is all. The file's name tells its content, so that all processes of a program share
// it. It is put into the first of these directories that can be used:
//
//   - LoadOptions.Dir
//   - $USDT_DIR
//   - $XDG_RUNTIME_DIR/usdt
//   - usdt-UID in $TMPDIR or /tmp
//
// A directory is used only if it belongs to the user that runs the program, others cannot write to
// it, and files in it may be executed. If there is none, the file is one in memory only. It stays
// where it is when the program ends, so that one can attach to it before the program starts; Load
// removes files of the directory that nobody has used for a day, once an hour.
//
// Firing is an ordinary call; stacks with frame pointers show the mark's function, the function that fired it, and its
// callers. The profiler of Go accounts the time of a mark as external code.
//
// Marks work on Linux on amd64 and arm64. Elsewhere the package compiles, Load returns an error,
// and marks never fire. A process that is checkpointed needs the file at its path to be restored.
package usdt
