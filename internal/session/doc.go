// Package session is the life of a script from its compilation to its end: it is
// compiled, or bound to this machine if that was done ahead of time (Compile, Bind:
// a Program); loaded, once more in pieces if the verifier gives up (Load: a Session);
// its begin programs run, the others are attached, the command is let go, what
// they send is read and acted on; at the end the end programs run and the maps are
// printed (Session.Run, Session.Start).
//
// All that it depends on is given: it takes no signals, reads no variables of the
// environment but for what it starts, prints nowhere but to the sink and the writers of
// its Options, and has no state beside its values. Several sessions run side by side.
//
// A session is handled from any goroutine; what its run has is one goroutine's at a
// time, so that handlers need no locks: that of Run, locked to its thread, in which
// begin and end programs run, and while events are awaited another, see ring/wait.go. Others
// only wake it: who stops it, the end of the child, the end of the context.
//
//	program.go            programs: compiled, bound, selected, with options
//	session.go            the handle: Load, Start, Run, Stop, Wait, Stats
//	run.go life.go        one run, and its life cycle
//	attach.go later.go detach.go        links
//	child/                the command
//	loop.go ring/ packet.go             reading records
//	env.go maps.go parts.go stack.go …   what handlers of records ask for
//	ending.go cost.go failure.go         what ends a run, costs, goes wrong
package session
