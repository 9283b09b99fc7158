package object

import "slices"

// A Role is what a map of hawk's own is for. Maps of the script have none.
type Role uint8

// The roles.
const (
	ScriptRole Role = iota
	SpillRole       // stacks whose place in the stack map is taken: u64 number → frames
	FollowRole      // threads that --follow traces; see package probe
	PacketRole      // perf buffers that network packets are sent through, one for each CPU
	UnwindSpacesRole
	UnwindChunksRole
	UnwindRulesRole
	UnwindFilesRole
	UnwindAskedRole // processes that wait for their space or tables, by u32 process ID
	MarksRole       // how arguments of marks are read that came later, by number; see probe.Marks
	Roles           // how many there are
)

// roleNames are what the maps are called; no script can name one so.
var roleNames = [Roles]string{
	SpillRole: "stack.spill", FollowRole: "followed.threads", PacketRole: "packet.buffers",
	UnwindSpacesRole: "unwind.spaces", UnwindChunksRole: "unwind.chunks",
	UnwindRulesRole: "unwind.rules",
	UnwindFilesRole: "unwind.files", UnwindAskedRole: "unwind.asked",
	MarksRole: "late.marks",
}

// Name is what a map of the role is called.
func (r Role) Name() string { return roleNames[r] }

// MapOf is the number of the first map of a role, -1 if there is none.
func (o *Object) MapOf(r Role) int {
	return slices.IndexFunc(o.Maps, func(m *Map) bool { return m.Role == r })
}
