package output

import (
	"encoding/binary"
	"io"
	"time"
)

// A Pcap writes packets as a file of the classic pcap format, as tcpdump and
// others read it: numbers in the machine's byte order, times in microseconds,
// and packets that begin with an IP header (link type RAW).
type Pcap struct {
	// Lost is how many packets are not in the file, or not as a whole.
	Lost uint64

	w    io.Writer
	err  error
	buf  []byte
	ends []int // of the packets in buf
}

const (
	// Numbers of the format (pcap-savefile(5)).
	pcapBuffer  = 64 << 10
	pcapMagic   = 0xa1b2c3d4
	pcapSnaplen = 65535
	linkRaw     = 101
)

// NewPcap writes the header of the file.
func NewPcap(w io.Writer) (*Pcap, error) {
	p := &Pcap{w: w}
	head := p.buf
	head = binary.NativeEndian.AppendUint32(head, pcapMagic)
	head = binary.NativeEndian.AppendUint16(head, 2)
	head = binary.NativeEndian.AppendUint16(head, 4)
	head = append(head, make([]byte, 8)...) // the time zone and how exact times are, which nobody fills in
	head = binary.NativeEndian.AppendUint32(head, pcapSnaplen)
	head = binary.NativeEndian.AppendUint32(head, linkRaw)
	p.buf = head
	return p, p.Flush()
}

// Packet appends a packet: what was caught of it, and how long it was.
// length may be more than what was caught; readers then show the packet as cut.
func (p *Pcap) Packet(at time.Time, data []byte, length int) error {
	if p.err != nil {
		p.Lost++
		return nil // which was told
	}
	data = data[:min(len(data), pcapSnaplen)]
	var head [16]byte
	micros := at.UnixMicro()
	binary.NativeEndian.PutUint32(head[0:], uint32(micros/1e6))
	binary.NativeEndian.PutUint32(head[4:], uint32(micros%1e6))
	binary.NativeEndian.PutUint32(head[8:], uint32(len(data)))
	binary.NativeEndian.PutUint32(head[12:], uint32(max(length, len(data))))
	p.buf = append(append(p.buf, head[:]...), data...)
	p.ends = append(p.ends, len(p.buf))
	if len(p.buf) < pcapBuffer {
		return nil
	}
	return p.Flush()
}

// Flush writes out what is buffered. An error is told once; nothing is written
// after it.
func (p *Pcap) Flush() error {
	if p.err != nil || len(p.buf) == 0 {
		return nil
	}
	var n int
	if n, p.err = p.w.Write(p.buf); p.err != nil {
		for _, end := range p.ends {
			if end > n {
				p.Lost++
			}
		}
	}
	p.buf, p.ends = p.buf[:0], p.ends[:0]
	return p.err
}

// Err is what keeps packets from being written, nil if nothing does.
func (p *Pcap) Err() error { return p.err }
