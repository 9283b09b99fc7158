package strace

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/value"
)

// note takes a tuple of the script; it reports whether it is the stack of a call, or the name of a
// thread. Stacks come as values, not as records: a record has bytes alone, and user space has to name
// frames.
func (s *Sink) note(v value.Value) bool {
	t, ok := v.(value.Tuple)
	if !ok || len(t) < 3 || integer(t[0]) != recordStack && integer(t[0]) != recordComm {
		return false
	}
	th := s.thread(int(integer(t[1])))
	if integer(t[0]) == recordComm {
		name, _ := t[2].(value.Str)
		th.comm = string(name)
		return true
	}
	th.stack, ok = t[2].(*value.Stack)
	return ok
}

// integer is the number that a value is, -1 for what is none: no kind of record has that.
func integer(v value.Value) int64 {
	n, _, ok := value.Integer(v)
	if !ok {
		return -1
	}
	return int64(n)
}

// name notes what a descriptor is.
func (n *noted) name(kind, fd int64, text string) {
	n.set(kind, fd, descriptor{path: text})
}

// A descriptor has a path, or what looks like one, and words of hawk's own behind or in place of it.
type descriptor struct {
	path, words string
	socket      bool // the words stand in place of the path
}

// set makes the map late, as most calls are about no descriptor.
func (n *noted) set(kind, fd int64, what descriptor) {
	if n.files == nil {
		n.files = map[int64]descriptor{}
	}
	if kind == recordMade {
		fd += atExit
	}
	n.files[fd] = what
}

// further notes what is known of a descriptor that is a socket or a device, or where a call was
// made. The path of the descriptor has come before, and is kept.
func (n *noted) further(kind int64, r *output.Snap) {
	if kind == recordPointer {
		n.pointer = uint64(r.Integer(2))
		return
	}
	fd, what := r.Integer(2), r.Integer(3)
	at := fd
	if what == recordMade {
		at += atExit
	}
	file := n.files[at]
	if kind == recordSocket {
		file.words, file.socket = socketName(file.path, r), true
	} else {
		word, rdev := "char", uint32(r.Integer(5))
		if r.Integer(4)&0xf000 == 0x6000 {
			word = "block"
		}
		file.words = fmt.Sprintf("<%s %d:%d>", word, rdev>>20, rdev&(1<<20-1)) // as the kernel has it
	}
	n.set(what, fd, file)
}

// socketName is what -yy says of a socket: its protocol and addresses, the number of its inode if it
// has none; nothing of a family that it does not know. The numbers are those of the kernel's
// struct sock at the time of the call.
func socketName(path string, r *output.Snap) string {
	const inet, inet6, local = 2, 10, 1
	const listens, tcp, udp = 10, 6, 17
	family, kind, protocol := r.Integer(4), r.Integer(5), r.Integer(6)
	// The path of a socket in /proc is socket:[INODE], and shows its number only.
	inode := strings.TrimPrefix(path, "socket:")
	number := func(v int64) netip.Addr { // in the order of the network
		var b [4]byte
		binary.NativeEndian.PutUint32(b[:], uint32(v))
		return netip.AddrFrom4(b)
	}
	switch family {
	case inet, inet6:
		name := map[int64]string{tcp: "TCP", udp: "UDP", 1: "ICMP", 58: "ICMP", 136: "UDPLITE",
			132: "SCTP"}[protocol]
		if name == "" {
			name = "RAW"
		}
		to, from := number(r.Integer(7)), number(r.Integer(8))
		host := func(a netip.Addr) string { return a.String() }
		if family == inet6 && len(r.Bytes) == 32 {
			name += "v6"
			to, from = netip.AddrFrom16([16]byte(r.Bytes)), netip.AddrFrom16([16]byte(r.Bytes[16:]))
			host = func(a netip.Addr) string { return "[" + a.String() + "]" }
		}
		// The kernel keeps the remote port in the order of the network, and the local one in its
		// own.
		port := binary.BigEndian.Uint16(binary.NativeEndian.AppendUint16(nil, uint16(r.Integer(9))))
		here := fmt.Sprintf("%s:%d", host(from), r.Integer(10))
		switch {
		// A remote port says that it is connected.
		case port != 0:
			return fmt.Sprintf("%s:[%s->%s:%d]", name, here, host(to), port)
		case r.Integer(10) != 0 && (protocol != tcp || r.Integer(11) == listens):
			return name + ":[" + here + "]"
		}
		return name + ":" + inode
	case local:
		kinds := map[int64]string{unix.SOCK_STREAM: "STREAM", unix.SOCK_DGRAM: "DGRAM",
			unix.SOCK_SEQPACKET: "SEQPACKET"}
		// Peers of sockets without a name are told by their inodes.
		if peer := r.Integer(12); peer != 0 {
			inode = strings.TrimSuffix(inode, "]") + "->" + strconv.FormatInt(peer, 10) + "]"
		}
		return "UNIX-" + kinds[kind] + ":" + inode
	case unix.AF_NETLINK:
		return "NETLINK:" + inode
	}
	return ""
}

// fd appends a descriptor, with what is behind it if that is asked for; when is atExit for one that
// the call made.
func (d *decoder) fd(v uint64, when int64) {
	d.int(int64(int32(v)))
	d.behind(v, when)
}

// at appends the descriptor of the directory that a path begins in.
func (d *decoder) at(v uint64) {
	if int32(v) != unix.AT_FDCWD {
		d.fd(v, 0)
		return
	}
	at := d.constant()
	d.str("AT_FDCWD").named(at, int64(int32(v)), 10)
	d.behind(v, 0)
}

// behind appends what is behind a descriptor. A call may pass a path by a descriptor, which
// counts for -P as one that it names.
func (d *decoder) behind(v uint64, when int64) {
	number := int64(int32(v))
	if d.c.noted == nil {
		return
	}
	if file, ok := d.c.files[number+when]; ok {
		d.given(file.path)
		if d.o.behind != nil {
			kind := "dev"
			if file.socket {
				kind = "socket"
			}
			if !slices.Contains(d.o.behind, kind) {
				file.words = ""
			}
			if file.words == "" && !slices.Contains(d.o.behind, "path") {
				return
			}
		}
		if d.o.Files > 0 {
			d.str("<")
			if !file.socket || file.words == "" {
				d.b = appendEscaped(d.b, []byte(file.path), "<>", d.o.Quoting)
			}
			d.str(file.words)
			d.str(">")
		}
	}
}

// given notes that a call was given a path.
func (d *decoder) given(path string) {
	if d.o.Paths != nil {
		d.paths = append(d.paths, path)
	}
}

// wanted reports whether the call that was decoded was given one of the paths of -P. The kernel
// does not filter by path: a descriptor is told apart only once its path is at hand.
func (s *Sink) wanted() bool {
	return s.o.Paths == nil ||
		slices.ContainsFunc(s.o.Paths, func(p string) bool { return slices.Contains(s.paths, p) })
}

// head appends what stands between the time of a call and its name.
func (s *Sink) head(c *Call) {
	s.paths = s.paths[:0]
	s.callNumber(c.Nr)
	if s.o.Pointer && c.noted != nil {
		s.str(fmt.Sprintf("[%016x] ", c.pointer))
	}
}

// noHead appends it for what is no call: the number is that of the thread's last one, and where the
// thread was is not known. The question marks are strace's.
func (s *Sink) noHead(th *thread) {
	s.callNumber(th.nr)
	if s.o.Pointer {
		s.str("[????????????????] ")
	}
}

func (s *Sink) callNumber(nr int) {
	if s.o.Number {
		s.str(fmt.Sprintf("[%4d] ", number(nr)))
	}
}

// frames shows the stack of a call below its line, but for the innermost ones: most of them, all
// if that is 0. Inlined functions are left out: strace shows frames of the machine alone. Where
// a file has no build ID, as memory that no file is mapped to, there is nothing to count the
// offset from.
func (s *Sink) frames(c *Call, without, most int) {
	if c.noted == nil || c.stack == nil {
		return
	}
	seen := 0
	for _, f := range c.stack.Named().Frames {
		if f.Inlined {
			continue
		}
		if seen++; most > 0 && seen > without+most {
			break
		}
		if seen <= without {
			continue
		}
		s.b = append(s.b[:0], " > "...)
		s.str(value.Escape(f.Module))
		s.str("(")
		if f.Func != "" {
			s.str(value.Escape(f.Func) + "+")
			s.hex(f.Offset)
		}
		s.str(") [")
		at := f.FileOffset
		if f.BuildID == "" {
			at = f.Addr
		}
		s.hex(at)
		s.str("]")
		s.line()
	}
}

// writer is where the lines of a thread go. A file is opened when its thread has its first line:
// threads without one have none, as under strace.
func (s *Sink) writer() (*bufio.Writer, error) {
	if s.o.Separate == "" {
		return s.w, nil
	}
	if w := s.apart[s.writing]; w != nil {
		return w.Writer, nil
	}
	// A file of an earlier run is emptied, as by strace without -A.
	how := os.O_TRUNC
	if s.o.Append {
		how = os.O_APPEND
	}
	f, err := os.OpenFile(s.o.Separate+"."+strconv.Itoa(s.writing), os.O_WRONLY|os.O_CREATE|how, 0o666)
	if err != nil {
		return nil, err
	}
	if s.apart == nil {
		s.apart = map[int]*threadFile{}
	}
	w := &threadFile{bufio.NewWriter(f), f}
	s.apart[s.writing] = w
	return w.Writer, nil
}

// A threadFile has the lines of one thread. It is closed when that ends: a run sees many.
type threadFile struct {
	*bufio.Writer
	file *os.File
}
