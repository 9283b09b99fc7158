package session

import (
	"encoding/binary"
	"math"
	"os"
	"slices"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/proc"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/unwind"
	"github.com/hawktrace/hawk/internal/value"
)

// stackKey is what decides what a kernel stack is: the numbers of stacks are
// not reused while the map lives.
type stackKey struct {
	id    uint64
	limit int
	mode  types.StackMode
}

// maxStacks bounds the stacks kept.
const maxStacks = 4096

// failed stands where the kernel could not follow a stack any further.
const failed = math.MaxUint64

// Stack makes a captured stack, whose names are found when they are wanted.
func (s *session) Stack(t *types.Stack, raw []byte) value.Value {
	id := binary.NativeEndian.Uint64(raw)
	key := stackKey{id, t.Limit, t.Mode}
	if v, ok := s.stacks[key]; ok && !t.User {
		v.Share()
		return v
	}
	v := &value.Stack{Mode: t.Mode, User: t.User, Addrs: s.frames(t, id), Namer: s.namer}
	if i := slices.Index(v.Addrs, failed); i >= 0 {
		v.Addrs, v.Broken = v.Addrs[:i], true
	}
	if t.User {
		v.PID = int(binary.NativeEndian.Uint32(raw[8:]))
		if v.Doubtful = !v.Broken && int64(id) >= 0 && id&object.StackDoubted != 0; v.Doubtful {
			s.cutAstray(v)
		}
		if s.namer != value.Namer(s) && len(v.Addrs) > 0 {
			s.userSymbol(v.PID, v.Addrs[0]) // the process may have ended by the time names are wanted
		}
		return v
	}
	// All are forgotten at once: those that are printed again come back soon.
	if s.stacks == nil || len(s.stacks) >= maxStacks {
		s.stacks = map[stackKey]*value.Stack{}
	}
	s.stacks[key] = v
	return v
}

// cutAstray cuts a doubtful stack where it leaves all code of its process: what follows is data that was taken
// for frame pointers.
func (s *session) cutAstray(v *value.Stack) {
	u := s.userSymbols()
	for i, addr := range v.Addrs[min(1, len(v.Addrs)):] {
		if inCode, known := u.InCode(v.PID, addr-1); known && !inCode {
			v.Addrs, v.Broken, v.Doubtful = v.Addrs[:i+1], true, false
			return
		}
	}
}

// entryCode bounds the code with which a program begins, in bytes: it puts a few
// registers in order and calls the rest.
const entryCode = 64

// doubtful reports whether a user stack may be cut short, or lead astray: it was
// walked by frame pointers before it was known whether the code keeps them, and it
// neither ends where a thread begins nor is all of it in code that does, as is
// known by now.
func (s *session) doubtful(pid int, frames []uint64) bool {
	if len(frames) == 0 {
		return false
	}
	last := len(frames) - 1
	keeps, begins := s.codeAt(pid, frames[last], last > 0)
	for i := last - 1; i >= 0 && keeps && !begins; i-- {
		keeps, _ = s.codeAt(pid, frames[i], i > 0)
	}
	return !keeps && !begins
}

// codeAt says of the code at an address of a process whether it keeps frame
// pointers, and whether a thread begins there. called says that the address is
// behind the call of another frame.
func (s *session) codeAt(pid int, addr uint64, called bool) (keepsFrames, begins bool) {
	if called {
		addr--
	}
	p, ok := s.userSymbols().Place(pid, addr)
	tables := s.unwind
	if run := s.symbols.run.Load(); tables == nil && run != nil {
		tables = run.unwind // who reads maps beside the run has none of its own
	}
	if !ok || tables == nil {
		return false, false
	}
	keepsFrames, begins = tables.Code(p.Path, &p.Stat, p.Addr)
	return keepsFrames, begins || p.Addr-p.Entry < entryCode
}

// frames reads the addresses of a stack, none if it was not captured.
func (s *session) frames(t *types.Stack, id uint64) []uint64 {
	if int64(id) < 0 {
		return nil
	}
	id &^= object.StackDoubted
	spilled := id > math.MaxUint32
	// Stack maps have room for as many frames as the kernel takes, if that is less.
	best := -1
	for i, m := range s.Object.Maps {
		isSpill := m.Role == object.SpillRole
		if m.Type != bpf.StackTrace && !isSpill || isSpill != spilled || m.ValueSize > 8*t.Limit ||
			spilled && m.ValueSize != 8*t.Limit || s.Maps[i] < 0 {
			continue
		}
		if best < 0 || m.ValueSize > s.Object.Maps[best].ValueSize {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	m := s.Object.Maps[best]
	var key [8]byte // the 4 bytes that a stack map takes come first
	binary.LittleEndian.PutUint64(key[:], id)
	raw := make([]byte, m.ValueSize)
	if bpf.MapLookup(s.Maps[best], key[:m.KeySize], raw) != nil {
		return nil
	}
	n := 0
	for n < len(raw)/8 && binary.NativeEndian.Uint64(raw[8*n:]) != 0 {
		n++
	}
	out := make([]uint64, n)
	for i := range out {
		out[i] = binary.NativeEndian.Uint64(raw[8*i:])
	}
	return out
}

// initUnwind finds the maps for unwinding by tables, if the script takes user
// stacks that way, and begins with the processes that are known.
func (s *session) initUnwind() {
	m := unwind.Maps{
		Spaces: s.mapOf(object.UnwindSpacesRole), Chunks: s.mapOf(object.UnwindChunksRole),
		Asked: s.mapOf(object.UnwindAskedRole), Files: s.mapOf(object.UnwindFilesRole),
	}
	if m.Spaces < 0 || m.Chunks < 0 || m.Asked < 0 {
		return
	}
	s.unwind = unwind.New(m)
	if s.o.PID > 0 {
		s.Unwind(s.o.PID)
	}
	for _, pid := range s.o.DwarfPIDs {
		s.Unwind(pid)
	}
	paths := s.programs()
	if c := s.o.Child; c != nil {
		paths = append(paths, c.Path)
	}
	for _, path := range paths {
		s.unwind.Expect(append(exe.Libraries(path), path)...)
	}
}

// unwindRunning provides tables for the processes that run at this moment,
// which are likely to be sampled next.
func (s *session) unwindRunning() {
	if s.unwind == nil || !s.seesAll() {
		return
	}
	pids, _ := proc.All()
	pids = slices.DeleteFunc(pids, func(pid int) bool { return !proc.Running(pid) || pid == os.Getpid() })
	s.unwind.Foresee(pids)
	if u := s.symbols.known(); u != nil {
		for _, pid := range pids {
			u.Meet(pid)
		}
	}
}

// Unwind provides tables for unwinding the stacks of a process, of which the
// first is just being taken.
func (s *session) Unwind(pid int) {
	if s.unwind != nil {
		s.unwind.Ask(pid)
	}
	if u := s.symbols.known(); u != nil {
		u.Meet(pid)
	}
}
