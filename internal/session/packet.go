package session

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/types"
)

// packets is what network packets come by, and the files they go to.
type packets struct {
	rings    []*bpf.PerfRing // of each CPU that is online
	pending  []sentPacket    // read, but perhaps not yet in order
	captures map[string]*capture
}

// A sentPacket is a record and when it was sent, by the monotonic clock.
type sentPacket struct {
	time uint64
	rec  []byte
}

// A capture is a file of packets.
type capture struct {
	*output.Pcap
	file *os.File // nil in a dry run, and once it is closed
}

// Pages of the buffer of one CPU. A packet and its record are at most 64 kB,
// and there has to be room for more than one.
const (
	packetPages      = 64
	packetPagesLeast = 32
	packetPagesMost  = 4096
)

// openPackets makes the buffers for packets, if a program sends any, and puts
// them where programs find them. What the user says of the size goes for all
// CPUs together, as it does for other records.
func (s *session) openPackets() error {
	fd := s.mapOf(object.PacketRole)
	if fd < 0 {
		return nil
	}
	pages := packetPages
	if n := s.o.Config.PerfRBPages; n > 0 {
		pages = types.PowerOfTwo(min(max(n/max(s.CPUs, 1), packetPagesLeast), packetPagesMost))
	}
	cpus, err := s.o.Probe.Machine.OnlineCPUs()
	if err != nil {
		return err
	}
	for _, cpu := range cpus {
		attr := unix.PerfEventAttr{
			Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_BPF_OUTPUT, Sample: 1,
			Sample_type: unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_RAW, Wakeup: 1,
			Bits: unix.PerfBitUseClockID, Clockid: unix.CLOCK_MONOTONIC,
		}
		ring, err := bpf.OpenPerfRing(&attr, cpu, pages*unix.Getpagesize())
		if errors.Is(err, unix.ENODEV) {
			continue // it went offline
		}
		if err != nil {
			return fmt.Errorf("cannot create the buffer for packets: %w", err)
		}
		s.packets.rings = append(s.packets.rings, ring)
		key, val := binary.NativeEndian.AppendUint32(nil, uint32(cpu)), binary.NativeEndian.AppendUint32(nil,
			uint32(ring.FD))
		if err := bpf.MapUpdate(fd, key, val, 0); err != nil {
			return fmt.Errorf("cannot use the buffer for packets: %w", err)
		}
	}
	return nil
}

// prepare lets builtins make what their events need.
func (s *session) prepare() error {
	for _, e := range s.events {
		f, _ := builtin.Lookup(e.Builtin)
		if f.Prepare == nil {
			continue
		}
		if err := f.Prepare(s, e.Event); err != nil {
			return err
		}
	}
	return nil
}

// Capture is the pcap file of a name, made when it is first asked for.
func (s *session) Capture(path string) (*output.Pcap, error) {
	if c := s.packets.captures[path]; c != nil {
		return c.Pcap, nil
	}
	c := &capture{}
	var err error
	if s.o.DryRun {
		c.Pcap, err = output.NewPcap(nowhere{})
	} else {
		if c.file, err = os.Create(path); err != nil {
			return nil, fmt.Errorf("cannot create %s: %s", path, errno.Message(errors.Unwrap(err)))
		}
		// Before anybody attends: captures are made with the session.
		v := output.NewValve(c.file)
		s.o.Valves = append(s.o.Valves, v)
		c.Pcap, err = output.NewPcap(v)
	}
	if s.packets.captures == nil {
		s.packets.captures = map[string]*capture{}
	}
	s.packets.captures[path] = c
	if err != nil {
		return nil, cannotWrite(path, err)
	}
	return c.Pcap, nil
}

// A nowhere takes what a dry run would write.
type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }

// readPackets acts on the packets that have come, in order over all CPUs, and
// says how many there were. Those on their way when exit() was called were sent
// before.
func (s *session) readPackets() int {
	p := &s.packets
	if p.empty() {
		return 0
	}
	// The rings hold all that was sent up to now, but only a part of what is sent while they are read.
	limit := uint64(clockNanos(unix.CLOCK_MONOTONIC))
	for _, ring := range p.rings {
		ring.Read(func(rec []byte) {
			if t, raw := sample(rec); len(raw) >= 4 {
				p.pending = append(p.pending, sentPacket{t, bytes.Clone(raw)})
			}
		})
	}
	order.Stably(p.pending, func(a, b sentPacket) int { return cmp.Compare(a.time, b.time) })
	n := 0
	for ; n < len(p.pending) && p.pending[n].time <= limit; n++ {
		s.act(p.pending[n].rec)
	}
	p.pending = slices.Delete(p.pending, 0, n)
	s.received.Add(uint64(n))
	return n
}

// sample takes what a program has sent out of a perf record: struct
// perf_event_header, u64 time, u32 length of what follows. Others say what was
// lost, which the program has counted.
func sample(rec []byte) (time uint64, raw []byte) {
	const timeAt, lengthAt, dataAt = 8, 16, 20
	if len(rec) < dataAt || binary.NativeEndian.Uint32(rec) != unix.PERF_RECORD_SAMPLE {
		return 0, nil
	}
	raw = rec[dataAt:]
	return binary.NativeEndian.Uint64(rec[timeAt:]),
		raw[:min(uint64(binary.NativeEndian.Uint32(rec[lengthAt:])), uint64(len(raw)))]
}

// empty reports whether no packet waits.
func (p *packets) empty() bool {
	for _, ring := range p.rings {
		if !ring.Empty() {
			return false
		}
	}
	return len(p.pending) == 0
}

// cannotWrite is the error of a file of packets.
func cannotWrite(path string, err error) error {
	return fmt.Errorf("cannot write to %s: %s", path, errno.Reason(err))
}

// flushCaptures writes out the packets that are buffered.
func (s *session) flushCaptures() {
	for path, c := range s.packets.captures {
		if err := c.Flush(); err != nil {
			s.Errorf("%v", cannotWrite(path, err))
		}
	}
}

// endCaptures closes the files of packets. It is an error if some packets are
// not in theirs.
func (s *session) endCaptures() error {
	var all []error
	for path, c := range s.packets.captures {
		c.Flush()
		if c.file != nil {
			if err := c.file.Close(); err != nil && c.Err() == nil {
				all = append(all, cannotWrite(path, err))
			}
			c.file = nil
		}
		if c.Lost > 0 {
			all = append(all, fmt.Errorf("packets that are missing from %s: %d, since it could not be written", path,
				c.Lost))
		}
	}
	return errors.Join(all...)
}

// close frees the buffers, and files that endCaptures has not closed.
func (p *packets) close() {
	for _, ring := range p.rings {
		ring.Close()
	}
	for _, c := range p.captures {
		if c.file != nil {
			c.file.Close()
		}
	}
}
