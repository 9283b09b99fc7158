// Package attach puts programs on the places that a group of attach points stands
// for: perf events, raw tracepoints, breakpoints in files. It refuses places where a
// probe would change what the traced program does, and says what the kernel refuses.
//
// Attachments live by file descriptors alone, so that a killed hawk leaves nothing
// behind. Those that the kernel makes and undoes by walking through the memory of
// processes are made and closed by Options.Kernel, which is not killed with hawk.
package attach
