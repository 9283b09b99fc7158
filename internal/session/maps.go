package session

import (
	"cmp"
	"encoding/binary"
	"errors"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

// printMaps prints all maps that hold anything, by name.
func (s *session) printMaps() {
	shown := make([]int, 0, len(s.Object.Scripts))
	for i, m := range s.Object.Scripts {
		if strings.HasPrefix(m.Name, "@") {
			shown = append(shown, i)
		}
	}
	name := func(n int) string { return s.Object.Scripts[n].Name }
	order.By(shown, func(a, b int) int { return cmp.Compare(name(a), name(b)) })
	for _, n := range shown {
		if s.signals.Load() > 1 || s.err != nil {
			return
		}
		s.printMap(n, output.Map{Div: 1}, false)
	}
}

// PrintMap prints a map; a scalar that was never written prints as zero.
func (s *session) PrintMap(n int, at source.Span, top, div int64) {
	s.printMap(n, output.Map{At: at, Top: top, Div: div}, true)
}

// printMap prints a map as the item says; zero says that a scalar which was never written is shown, too.
func (s *session) printMap(n int, it output.Map, zero bool) {
	if n < 0 || n >= len(s.Object.Scripts) {
		return
	}
	m := s.Object.Scripts[n]
	entries, err := s.readMap(m)
	if err != nil {
		s.Errorf("cannot read the map %s: %s", m.Name, errno.Message(err))
		return
	}
	if entries.Len() == 0 && m.Key == nil && zero {
		if v := s.zeroValue(m); v != nil {
			entries.Add(nil, v)
		}
	}
	it.Name, it.Keyed, it.Entries = m.Name, m.Key != nil, entries
	if entries.Len() == 0 {
		s.relayEmpty(it)
		return
	}
	s.Emit(it)
	s.lines.Forget()
}

// zeroValue is what a scalar shows before it was written; nil if nothing.
func (s *session) zeroValue(m *object.ScriptMap) value.Value {
	if m.Agg == nil {
		return value.Decode(m.Value, make([]byte, m.Value.Size()), s)
	}
	switch v := s.Agg(m.Agg, make([]byte, m.Cell)).(type) {
	case value.Hist, value.Series:
		return nil
	default:
		return v
	}
}

// ReadMap reads a map and, with take, removes its elements: in one pass where the
// kernel can, else what was read and is there then.
func (s *session) ReadMap(n int, take bool) (out output.Entries, err error) {
	m := s.scriptMap(n)
	if m == nil {
		return out, nil
	}
	s.lines.Forget()
	switch {
	case m.Map < 0 || m.Parts != 0 || m.Soft || !take:
		out, err = s.readMap(m)
	case s.watcher != nil && s.watcher.maps[n].ledger != nil:
		return s.emptied(n), nil
	default:
		batch := bpf.Batch{Take: true}
		out, err = s.readElements(&batch, s.Maps[m.Map], m)
		take = !batch.Take
	}
	if take && err == nil {
		s.ClearMap(n)
	}
	return out, err
}

// Unstored is how many updates of maps found no room since it was asked last.
func (s *session) Unstored() uint64 {
	var total uint64
	for _, site := range s.Object.Sites {
		if site.Map >= 0 {
			total += atomic.LoadUint64(s.word(site.Offset))
		}
	}
	n := total - s.unstored
	s.unstored = total
	return n
}

// readMap reads all elements, in no order.
func (s *session) readMap(m *object.ScriptMap) (out output.Entries, err error) {
	if m.Parts != 0 {
		return s.readInParts(m)
	}
	if m.Map < 0 {
		if v := s.readScalar(m); v != nil {
			out.Add(nil, v)
		}
		return out, nil
	}
	return s.readElements(&bpf.Batch{}, s.Maps[m.Map], m)
}

// readElements reads the elements of a map with keys from one of its generations.
func (s *session) readElements(b *bpf.Batch, fd int, m *object.ScriptMap) (out output.Entries, err error) {
	put := s.adding(m)
	add := func(key, val []byte) bool {
		if cell, ok := s.elementCell(m, val); ok {
			put(&out, key, cell)
		}
		return true
	}
	err = s.walkBy(b, fd, m.Map, m.PerCPU, add)
	if m.Short != 0 && err == nil {
		short := bpf.Batch{Take: b.Take}
		err = s.walkBy(&short, s.Maps[m.Short], m.Short, m.PerCPU, s.wholeKeys(m, add))
		b.Take = short.Take
	}
	return out, err
}

// adding makes what adds elements of a map to others.
func (s *session) adding(m *object.ScriptMap) func(to *output.Entries, key, cell []byte) {
	how := s.packing(m)
	return func(to *output.Entries, key, cell []byte) {
		switch {
		case how != nil && len(key) >= m.Key.Size() && len(cell) >= how.Cell:
			to.Pack(how, key, cell[:how.Cell])
		case m.Key == nil:
			to.Add(nil, s.shown(m, cell))
		default:
			to.Add(value.Decode(m.Key, key, s), s.shown(m, cell))
		}
	}
}

// packing says how elements of a map are kept as bytes; nil: they are kept as values, as those are that take looking
// up, which must happen while what they name is there.
func (s *session) packing(m *object.ScriptMap) *output.Packing {
	if m.Key == nil || !value.Ordered(m.Key) {
		return nil
	}
	how := &output.Packing{Key: m.Key, Cell: m.Cell, Env: wordings{trailer: s.Trailer(), unreadable: s.Unreadable()}}
	if m.Agg == nil {
		how.Cell = m.Value.Size()
		how.Value = func(cell []byte) value.Value { return value.Decode(m.Value, cell, how.Env) }
		if !value.Ordered(m.Value) {
			return nil
		}
		return how
	}
	kind, ok := builtin.LookupAgg(m.Agg.Kind)
	if !ok {
		return nil
	}
	how.Value = kind.Shower(m.Agg)
	return how
}

// wordings are what values of no run are shown with.
type wordings struct {
	value.Env
	trailer, unreadable string
}

func (w wordings) Trailer() string    { return w.trailer }
func (w wordings) Unreadable() string { return w.unreadable }

// wholeKeys is f for the elements of a map that are in the kernel map of short keys.
func (s *session) wholeKeys(m *object.ScriptMap, f func(key, val []byte) bool) func(key, val []byte) bool {
	whole := make([]byte, s.Object.Maps[m.Map].KeySize)
	return func(key, val []byte) bool {
		copy(whole, key) // the rest are zeroes
		return f(whole, val)
	}
}

// walkMap visits all elements of a script map with keys until f returns false. The slices are valid
// during the call only.
func (s *session) walkMap(m *object.ScriptMap, f func(key, val []byte) bool) error {
	more := true
	all := func(key, val []byte) bool {
		more = f(key, val)
		return more
	}
	err := s.walk(m.Map, m.PerCPU, all)
	if m.Short != 0 && err == nil && more {
		err = s.walk(m.Short, m.PerCPU, s.wholeKeys(m, all))
	}
	return err
}

// elementValue makes the value of an element; ok is false if it does not exist
// for the user.
func (s *session) elementValue(m *object.ScriptMap, val []byte) (value.Value, bool) {
	cell, ok := s.elementCell(m, val)
	if !ok {
		return nil, false
	}
	return s.shown(m, cell), true
}

// elementCell is the bytes of the value of an element, those of all CPUs as one; ok is false if
// it does not exist for the user.
func (s *session) elementCell(m *object.ScriptMap, val []byte) (cell []byte, ok bool) {
	switch {
	case m.Soft && binary.NativeEndian.Uint64(val[8:]) == 0:
		return nil, false
	case m.Agg == nil:
		return val, true
	case m.Cell <= 0 || len(val) < m.Cell:
		return nil, false
	}
	return fold(m.Agg, val, m.Cell), true
}

// fold joins the cells of all CPUs, which lie behind each other as the kernel
// has them, to the first of them.
func fold(t *types.Agg, val []byte, size int) []byte {
	kind, ok := builtin.LookupAgg(t.Kind)
	if !ok || len(val) < size {
		return nil
	}
	dst, step := val[:size], bpf.PerCPUBytes(size)
	for len(val) >= step+size {
		val = val[step:]
		kind.Fold(t, dst, val[:size])
	}
	return dst
}

// cell is a copy of a value in the data map, at an offset, that programs may be writing.
func (s *session) cell(m *object.ScriptMap, at int) (raw []byte, present bool) {
	if at < 0 || at+8+m.Cell > len(s.Data) || atomic.LoadUint64(s.word(at)) == 0 {
		return nil, false
	}
	raw = make([]byte, m.Cell)
	for off := 0; off+8 <= m.Cell; off += 8 {
		binary.NativeEndian.PutUint64(raw[off:], atomic.LoadUint64(s.word(at+8+off)))
	}
	return raw, true
}

// offset is where the cells of a map in the data map are, in the generation in use.
func (s *session) offset(m *object.ScriptMap) int {
	if t := m.Turns; t.Bytes != 0 && t.Word+8 <= len(s.Data) {
		return m.Offset + int(atomic.LoadUint64(s.word(t.Word))&1)*t.Bytes
	}
	return m.Offset
}

// cellCount is the number of cells that a map in the data map has.
func (s *session) cellCount(m *object.ScriptMap) int {
	if m.PerCPU {
		return max(s.Object.Data.CPUSlots, 1)
	}
	return 1
}

// readScalar reads a map in the data map; nil if it was never written.
func (s *session) readScalar(m *object.ScriptMap) value.Value {
	if all := s.joined(m, s.cell); all != nil {
		return s.shown(m, all)
	}
	return nil
}

// joined are the cells of a map in the data map as one, each as get reads it; nil if the
// map was never written.
func (s *session) joined(m *object.ScriptMap, get func(m *object.ScriptMap, at int) ([]byte, bool)) []byte {
	var kind *builtin.Agg
	if m.Agg != nil {
		kind, _ = builtin.LookupAgg(m.Agg.Kind)
	}
	var all []byte
	first := s.offset(m)
	for i := range s.cellCount(m) {
		raw, ok := get(m, first+i*m.Stride)
		switch {
		case !ok:
		case all == nil:
			all = raw
		case kind != nil:
			kind.Fold(m.Agg, all, raw)
		}
	}
	return all
}

// ClearMap removes all elements.
func (s *session) ClearMap(n int) {
	m := s.scriptMap(n)
	if m == nil || s.watcher != nil && s.emptying(n, false) {
		return
	}
	if m.Map < 0 {
		s.wipe(m, true)
	} else {
		for _, n := range m.Tables() {
			deleted := s.deleteAll(s.Maps[n], n, m.PerCPU)
			if m.Soft { // the number of elements in the table
				atomic.AddUint64(s.word(m.Offset), -uint64(deleted))
			}
		}
	}
	if m.Parts != 0 {
		s.deleteAll(s.Maps[m.Parts], m.Parts, true)
	}
}

// deleteAll removes all elements of a kernel map, of number m, and says how many there
// were.
func (s *session) deleteAll(fd, m int, perCPU bool) (deleted int) {
	// Keys are listed first: to delete while walking has the kernel begin again from the first
	// bucket.
	keys := s.keys(fd, m, perCPU)
	size := s.Object.Maps[m].KeySize
	for rest := keys; len(rest) > 0; {
		n := min(len(rest)/size, chunkMost)
		done, err := bpf.MapDeleteBatch(fd, rest, n)
		deleted += done
		rest = rest[done*size:]
		if err == nil || len(rest) == 0 {
			continue
		}
		// A key that is gone meanwhile, or a kernel without batches.
		if bpf.MapDelete(fd, rest[:size]) == nil {
			deleted++
		}
		rest = rest[size:]
	}
	return deleted
}

// ZeroMap sets all values to zero and keeps the keys.
func (s *session) ZeroMap(n int) {
	m := s.scriptMap(n)
	if m == nil || s.watcher != nil && s.emptying(n, true) {
		return
	}
	switch {
	case m.Parts != 0:
		s.zeroTable(m, m.Parts, true)
	case m.Map < 0:
		s.wipe(m, false)
	default:
		for _, n := range m.Tables() {
			s.zeroTable(m, n, m.PerCPU)
		}
	}
}

// zeroTable is ZeroMap for one of the kernel maps of a script map, of number n.
func (s *session) zeroTable(m *object.ScriptMap, n int, perCPU bool) {
	fd := s.Maps[n]
	zeros := make([]byte, s.valueBytes(n, perCPU))
	const exists = 2 // BPF_EXIST: what was deleted meanwhile must not come back
	if m.Soft {
		s.walk(n, perCPU, func(key, val []byte) bool {
			copy(zeros[8:], val[8:16])
			bpf.MapUpdate(fd, key, zeros, exists)
			return true
		})
		return
	}
	size := s.Object.Maps[n].KeySize
	for keys := s.keys(fd, n, perCPU); len(keys) >= size; keys = keys[size:] {
		bpf.MapUpdate(fd, keys[:size], zeros, exists)
	}
}

// scriptMap is a script map by its number, nil if there is nothing of it in the kernel.
func (s *session) scriptMap(n int) *object.ScriptMap {
	if n < 0 || n >= len(s.Object.Scripts) {
		return nil
	}
	m := s.Object.Scripts[n]
	if m.Map >= 0 && s.Maps[m.Map] < 0 {
		return nil // no program refers to it: it is empty
	}
	return m
}

// wipe zeroes a map in the data map, and forgets that it was written.
func (s *session) wipe(m *object.ScriptMap, forget bool) {
	first := s.offset(m)
	for i := range s.cellCount(m) {
		at := first + i*m.Stride
		if at < 0 || at+8+m.Cell > len(s.Data) {
			continue
		}
		if forget {
			atomic.StoreUint64(s.word(at), 0)
		}
		for off := 0; off+8 <= m.Cell; off += 8 {
			atomic.StoreUint64(s.word(at+8+off), 0)
		}
	}
}

// keys lists the keys of a kernel map, laid end to end.
func (s *session) keys(fd, m int, perCPU bool) []byte {
	var out []byte
	s.walkIn(fd, m, perCPU, func(key, _ []byte) bool {
		out = append(out, key...)
		return true
	})
	return out
}

// valueBytes is what one element's value takes when user space reads it.
func (s *session) valueBytes(m int, perCPU bool) int {
	size := s.Object.Maps[m].ValueSize
	if perCPU {
		return bpf.PerCPUBytes(size) * s.PerCPU
	}
	return size
}

// Bounds of one batch of elements.
const (
	chunkMost  = 4096
	chunkLeast = 32
	chunkFirst = 64      // most maps have no more, and memory for thousands is to be had and cleared
	chunkBytes = 4 << 20 // of values: per-CPU histograms are large
)

// walk visits all elements of a kernel map until f returns false. The slices
// are valid during the call only.
func (s *session) walk(m int, perCPU bool, f func(key, val []byte) bool) error {
	return s.walkIn(s.Maps[m], m, perCPU, f)
}

// walkIn is walk for one generation of a map.
func (s *session) walkIn(fd, m int, perCPU bool, f func(key, val []byte) bool) error {
	return s.walkBy(&bpf.Batch{}, fd, m, perCPU, f)
}

// walkBy is walkIn by a batch, which is told not to take elements if it cannot.
func (s *session) walkBy(batch *bpf.Batch, fd, m int, perCPU bool, f func(key, val []byte) bool) error {
	if fd < 0 {
		return nil
	}
	keySize, valueSize := s.Object.Maps[m].KeySize, s.valueBytes(m, perCPU)
	most := min(max(chunkBytes/max(valueSize, 1), chunkLeast), chunkMost, max(s.Object.Maps[m].MaxEntries, 1))
	chunk := min(most, chunkFirst)
	read := func(c *elements) {
		for {
			if len(c.keys) < chunk*keySize {
				c.keys, c.values = make([]byte, chunk*keySize), make([]byte, chunk*valueSize)
			}
			c.n, c.err = batch.Next(fd, keySize, c.keys, c.values)
			if !errors.Is(c.err, unix.ENOSPC) || chunk >= 1<<20 {
				return
			}
			chunk *= 2 // one bucket holds more than that
		}
	}
	visit := func(c *elements) (more bool) {
		for i := range c.n {
			if !f(c.keys[i*keySize:(i+1)*keySize], c.values[i*valueSize:(i+1)*valueSize]) {
				return false
			}
		}
		return true
	}
	// The kernel reads ahead, most of the time waiting for memory, while f is at work.
	var buffers [2]elements
	for turn := 0; ; turn++ {
		cur, next := &buffers[turn%2], &buffers[(turn+1)%2]
		if turn == 0 {
			if read(cur); cur.err != nil {
				batch.Take = false
				return s.walkSlowly(fd, keySize, valueSize, f) // before 5.6, or no batches for this kind of map
			}
			chunk = max(chunk, most)
		}
		if cur.err != nil || batch.Done() {
			visit(cur)
			return cur.err
		}
		ready := make(chan struct{})
		go func() {
			read(next)
			close(ready)
		}()
		more := visit(cur)
		<-ready
		if !more {
			return nil
		}
	}
}

// elements are what one call to the kernel read of a map: keys and values laid end to end.
type elements struct {
	keys, values []byte
	n            int
	err          error
}

// walkSlowly is walk with two system calls for each element.
func (s *session) walkSlowly(fd, keySize, valueSize int, f func(key, val []byte) bool) error {
	key, next, val := []byte(nil), make([]byte, keySize), make([]byte, valueSize)
	// A deleted key makes the kernel start again from the first: the number of
	// rounds is bounded, as a busy map could keep this going for ever.
	for range 1 << 24 {
		if err := bpf.MapNextKey(fd, key, next); err != nil {
			if errors.Is(err, unix.ENOENT) {
				return nil
			}
			return err
		}
		if key == nil {
			key = make([]byte, keySize)
		}
		copy(key, next)
		err := bpf.MapLookup(fd, key, val)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return err
		}
		if !f(key, val) {
			return nil
		}
	}
	return errors.New("the map changes faster than it can be read")
}
