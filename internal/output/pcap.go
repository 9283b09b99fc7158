package output

import (
	"bufio"
	"encoding/binary"
	"io"
	"time"
)

// A Pcap writes packets as a file of the classic pcap format, as tcpdump and
// others read it: numbers in the machine's byte order, times in microseconds,
// and packets that begin with an IP header (link type RAW).
type Pcap struct {
	w   *bufio.Writer
	err error
}

const (
	pcapMagic   = 0xa1b2c3d4
	pcapSnaplen = 65535
	linkRaw     = 101
)

// NewPcap writes the header of the file.
func NewPcap(w io.Writer) (*Pcap, error) {
	p := &Pcap{w: bufio.NewWriterSize(w, 64<<10)}
	var head []byte
	head = binary.NativeEndian.AppendUint32(head, pcapMagic)
	head = binary.NativeEndian.AppendUint16(head, 2)
	head = binary.NativeEndian.AppendUint16(head, 4)
	head = append(head, make([]byte, 8)...) // the time zone and how exact times are, which nobody fills in
	head = binary.NativeEndian.AppendUint32(head, pcapSnaplen)
	head = binary.NativeEndian.AppendUint32(head, linkRaw)
	p.write(head)
	return p, p.Flush()
}

// write keeps the first error, after which nothing is written any more.
func (p *Pcap) write(b []byte) {
	if p.err == nil {
		_, p.err = p.w.Write(b)
	}
}

// Packet appends a packet: what was caught of it, and how long it was.
func (p *Pcap) Packet(at time.Time, data []byte, length int) error {
	if p.err != nil {
		return nil // which was told
	}
	data = data[:min(len(data), pcapSnaplen)]
	var head [16]byte
	micros := at.UnixMicro()
	binary.NativeEndian.PutUint32(head[0:], uint32(micros/1e6))
	binary.NativeEndian.PutUint32(head[4:], uint32(micros%1e6))
	binary.NativeEndian.PutUint32(head[8:], uint32(len(data)))
	binary.NativeEndian.PutUint32(head[12:], uint32(max(length, len(data))))
	p.write(head[:])
	p.write(data)
	return p.err
}

// Flush writes out what is buffered.
func (p *Pcap) Flush() error {
	if p.err != nil {
		return nil
	}
	p.err = p.w.Flush()
	return p.err
}
