package kernel

import (
	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/btf"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/types"
)

// One link can serve both ends of kernel functions. The kernel then does for
// two programs little more than for one, and runs the one for the return only
// if the call was seen.

// sessionReturn is the kernel function that tells a program which end it is at.
const sessionReturn = "bpf_session_is_return"

// OneSession makes one group of two: entries and returns of the same
// functions. It also names the kernel function that tells them apart, by its
// type; ok is false if the kernel or the user does not want it so.
func OneSession(entry, ret *probe.Group, o *probe.Options) (both *probe.Group, isReturnID uint32, ok bool) {
	if entry.Mechanism != kprobeMulti.ID || ret.Mechanism != kretprobeMulti.ID || len(entry.Points) != len(ret.Points) {
		return nil, 0, false
	}
	for i, p := range entry.Points {
		if q := ret.Points[i]; p.Func != q.Func || p.Target != "" || q.Target != "" {
			return nil, 0, false
		}
	}
	if o.NoFeature[machine.KprobeMulti.Name] || !o.Has(machine.KprobeSession) || returnsNeedRoom(o) {
		return nil, 0, false
	}
	s, err := o.Machine.BTF()
	if err != nil {
		return nil, 0, false
	}
	id, err := s.Find(sessionReturn, btf.Set(btf.Func))
	if err != nil {
		return nil, 0, false
	}
	points := append(append([]*probe.Point(nil), entry.Points...), ret.Points...)
	return &probe.Group{Points: points, Mechanism: kprobeSession.ID, Cookies: entry.Cookies}, id, true
}

// returnsNeedRoom reports whether the kernel has room to note so many returns of a function
// at a time, as before 6.14: by a link of both ends it would pass over the entry too where
// it finds none.
func returnsNeedRoom(o *probe.Options) bool {
	t, err := o.Machine.TypeByName("struct", "fprobe")
	if err != nil {
		return false
	}
	s, ok := t.(*types.Struct)
	if !ok {
		return false
	}
	_, ok = s.Field("rethook")
	return ok
}

var kprobeSession = probe.Mechanism{
	Name:      "kprobe.session",
	Program:   bpf.Kprobe,
	Attach:    bpf.AttachKprobeSession,
	BothEnds:  true,
	Backwards: true,
	Slow:      true,
	Counts:    true,
	Link: func(progFD int, g *probe.Group, o *probe.Options) ([]probe.Link, error) {
		entries := *g
		entries.Points = g.Points[:len(g.Points)/2]
		return linkMany(progFD, &entries, 0, bpf.AttachKprobeSession, o)
	},
}
