// Package run drives a loaded script: it runs the begin programs, attaches the
// others, reads the records they send and acts on them, and at the end runs
// the end programs and prints the maps.
//
// One goroutine does all of it, locked to its thread, so that handlers need no
// locks and begin and end see one process and thread. Others only wake it:
// for signals, for the end of the child, for the end of the context.
package run
