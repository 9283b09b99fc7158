// Package run drives a loaded script: it runs the begin programs, attaches the
// others, reads the records they send and acts on them, and at the end runs
// the end programs and prints the maps.
//
// One goroutine at a time does all of it, so that handlers need no locks: that
// of Run, locked to its thread, in which begin and end programs run, and while
// events are awaited another, see wait.go. Others only wake it: for signals, for
// the end of the child, for the end of the context.
package session
