package strace

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A descriptors is a set of descriptors of -e read= and -e write=; nil has none. A set and its
// complement are one type, since "!" may stand in front of any.
type descriptors struct {
	fds []int
	not bool // those that are not in it
}

// setDescriptors reads a set of descriptors: numbers, all or none. "all" ends the reading: what
// stands beside it is in it, or with "!" nothing is.
func setDescriptors(set string) (*descriptors, error) {
	d := &descriptors{}
	set, d.not = strings.CutPrefix(set, "!")
	for word := range strings.SplitSeq(set, ",") {
		switch word {
		case "none":
		case "all":
			return &descriptors{not: !d.not}, nil
		default:
			fd, err := strconv.Atoi(word)
			if err != nil || fd < 0 {
				return nil, fmt.Errorf("%s is no descriptor; there are numbers, all and none", word)
			}
			d.fds = append(d.fds, fd)
		}
	}
	return d, nil
}

// has reports whether a descriptor is in the set.
func (d *descriptors) has(fd int) bool { return d != nil && slices.Contains(d.fds, fd) != d.not }

// Dumps reports whether data are dumped.
func (f *Filter) Dumps() bool { return f.read != nil || f.write != nil }

// receives and sends are the calls whose data can be dumped; what the data are their second argument says.
const (
	receives words = " read pread64 recv recvfrom mq_timedreceive readv preadv preadv2 recvmsg "
	sends    words = " write pwrite64 send sendto mq_timedsend writev pwritev pwritev2 vmsplice sendmsg "
)

// wholly reports whether data of a call are dumped, so that all of them are copied. -s limits what
// lines show; a dump shows everything that was transferred (up to most).
func (f *Filter) wholly(name string) bool {
	return f.write != nil && sends.has(name) || f.read != nil && receives.has(name)
}

// most is how many bytes of a buffer are dumped; what is beyond that is counted.
const most = 1 << 16

// dump shows the data of a call below its line, 16 bytes a line, in hexadecimal and as text. The
// form is strace's.
func (s *Sink) dump(c *Call) {
	if !s.o.Dumps() || c.failed() || c.Unfinished || s.of == nil {
		return
	}
	set, known := s.o.read, receives.has(s.of.name)
	if sends.has(s.of.name) {
		set, known = s.o.write, true
	}
	if !known || !set.has(int(int32(c.Args[0]))) || len(s.of.args) < 2 {
		return
	}
	s.b = s.b[:0]
	// The result, not the size of the buffer: a short read has less, and garbage behind it.
	addr, left := c.Args[1], c.Result
	switch s.of.args[1].kind {
	case "iov", "iovr":
		s.dumpBuffers(addr, int(c.Args[2]), left)
	case "msghdr":
		// struct msghdr: the array of buffers is at 16, how many there are at 24.
		if b, ok := c.mem.whole(addr, 56, false); ok {
			s.dumpBuffers(u64(b, 16), int(u64(b, 24)), left)
		}
	default:
		s.dumpData(addr, left)
	}
	if len(s.b) > 0 {
		s.write()
	}
}

// dumpBuffers appends the data of buffers, up to so many bytes in all. The sizes are the program's:
// they are made positive and their sum never exceeds left.
func (s *Sink) dumpBuffers(addr uint64, n int, left int64) {
	array, _ := s.c.mem.at(addr, min(n, 1024)*16, false)
	for i := 0; 16*i+16 <= len(array) && left > 0; i++ {
		size := min(left, int64(u64(array, 16*i+8)&(1<<62-1)))
		left -= size
		s.str(fmt.Sprintf(" * %d bytes in buffer %d\n", size, i))
		s.dumpData(u64(array, 16*i), size)
	}
}

// dumpData appends lines of 16 bytes each.
func (s *Sink) dumpData(addr uint64, n int64) {
	data, _ := s.c.mem.at(addr, int(max(min(n, most), 0)), false)
	for at := 0; at < len(data); at += 16 {
		row := data[at:min(at+16, len(data))]
		s.str(fmt.Sprintf(" | %05x ", at))
		for i := range 16 {
			if i%8 == 0 {
				s.str(" ")
			}
			if i < len(row) {
				s.b = append(s.b, hexDigits[row[i]>>4], hexDigits[row[i]&15], ' ')
			} else {
				s.str("   ")
			}
		}
		s.str(" ")
		for i := range 16 {
			switch {
			case i >= len(row):
				s.str(" ")
			case row[i] >= ' ' && row[i] <= '~':
				s.b = append(s.b, row[i])
			default:
				s.str(".")
			}
		}
		s.str(" |\n")
	}
	if int64(len(data)) < n {
		s.str(fmt.Sprintf(" | %d further bytes are not shown\n", n-int64(len(data))))
	}
}
