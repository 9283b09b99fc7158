package run

import (
	"encoding/binary"
	"math"
	"os"

	"github.com/cilium/ebpf"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/target/exe"
	"github.com/hawktrace/hawk/internal/target/proc"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/unwind"
	"github.com/hawktrace/hawk/internal/value"
)

// stackKey is what decides the text of a kernel stack: the numbers of stacks
// are not reused while the map lives.
type stackKey struct {
	id    uint64
	limit int
	mode  types.StackMode
}

// maxStacks bounds the texts kept.
const maxStacks = 4096

// Stack renders a captured stack: a newline and a line for each frame.
func (s *session) Stack(t *types.Stack, raw []byte) value.Value {
	id := binary.NativeEndian.Uint64(raw)
	pid := int(binary.NativeEndian.Uint32(raw[8:]))
	key := stackKey{id, t.Limit, t.Mode}
	if text, ok := s.stacks[key]; ok && !t.User {
		return text
	}
	text := []byte{'\n'}
	for i, addr := range s.frames(t, id) {
		if addr == math.MaxUint64 {
			text = append(text, "        <unwind failure>\n"...)
			break
		}
		text = s.appendFrame(text, t, pid, addr, i > 0)
	}
	v := value.Stack(text)
	if !t.User {
		if s.stacks == nil || len(s.stacks) >= maxStacks {
			s.stacks = map[stackKey]value.Stack{}
		}
		s.stacks[key] = v
	}
	return v
}

// frames reads the addresses of a stack, none if it was not captured.
func (s *session) frames(t *types.Stack, id uint64) []uint64 {
	if int64(id) < 0 {
		return nil
	}
	spilled := id > math.MaxUint32
	// Stack maps have room for as many frames as the kernel takes, if that is less.
	best := -1
	for i, m := range s.Object.Maps {
		isSpill := m.Type == ebpf.Hash && m.Name == object.SpillName
		if m.Type != ebpf.StackTrace && !isSpill || isSpill != spilled || m.ValueSize > 8*t.Limit || spilled && m.ValueSize != 8*t.Limit || s.Maps[i] < 0 {
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
	var out []uint64
	for len(raw) >= 8 {
		addr := binary.NativeEndian.Uint64(raw)
		if addr == 0 {
			break
		}
		out = append(out, addr)
		raw = raw[8:]
	}
	return out
}

// initUnwind finds the maps for unwinding by tables, if the script takes user
// stacks that way, and begins with the processes that are known.
func (s *session) initUnwind() {
	m := unwind.Maps{Spaces: -1, Chunks: -1, Asked: -1, Files: -1}
	for i, o := range s.Object.Maps {
		switch o.Name {
		case object.UnwindSpacesName:
			m.Spaces = s.Maps[i]
		case object.UnwindChunksName:
			m.Chunks = s.Maps[i]
		case object.UnwindAskedName:
			m.Asked = s.Maps[i]
		case object.UnwindFilesName:
			m.Files = s.Maps[i]
		}
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
		paths = append(paths, c.path)
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
	for _, pid := range pids {
		if proc.Running(pid) && pid != os.Getpid() {
			s.Unwind(pid)
		}
	}
}

// Unwind provides tables for unwinding the stacks of a process, of which the
// first is just being taken.
func (s *session) Unwind(pid int) {
	if s.unwind != nil {
		s.unwind.Ask(pid)
	}
	if s.user != nil {
		s.user.Meet(pid)
	}
}
