// Package hawk compiles scripts of the hawk language to eBPF programs and runs them.
// The program that embeds it is handed what they print.
//
// There are three steps, each of which fails for reasons of its own. [Compile]
// turns a [Script] into a [Program] and needs no privileges. [Program.Start] loads
// and attaches it, and needs those of root. [Session.Wait] says how the run ended.
// [Session.Events] has what the script prints, and [Decoded] has it as values of a type
// of the caller's; [Session.Map] reads its maps at any time.
//
// The package writes to no stream, takes no signals, reads no environment and
// keeps no state: any number of sessions live in one process.
package hawk
