package strace

import (
	"fmt"
	"strconv"
	"strings"
)

// Kinds of copies. A plan has 16 bits for the memory that an argument points to, which
// tools/lib/memory.bt follows: the argument, whether when the call begins or when it returns, how
// the length is found, and a number for that. A call has room for three, and one of those that
// take loops.
const (
	copySignal   = 0  // the mask that rt_sigreturn restores, 8*size bytes above the stack pointer
	copyString   = 1  // up to its NUL; size 0: whole, 1: as long as strings are shown, 2: 17 bytes
	copyFixed    = 2  // 4*size bytes
	copyElements = 3  // size is (bytes of one / 4)<<3 | the argument that says how many, 7: the result
	copyData     = 4  // as copyElements, bytes, as many as are shown of strings
	copyPointed  = 5  // as many as the number says that the argument size points to
	copyNumbered = 6  // as many as the argument size says, 128 at most
	copyVectors  = 7  // an array of buffers and what is in them; size as for copyElements, 8: of the result, 16: aio
	copyMessage  = 8  // a struct msghdr and all that it points to; size 8: only what was received; 16: an array
	copyStrings  = 9  // an array of pointers, the strings, the pointers of the argument behind it; again on failure
	copySets     = 10 // the three sets of select, when it begins and when it returns; size 1: and pselect's mask
	copyText     = 11 // a string as long as strings are shown, when it returns
	copyLong     = 12 // as many bytes as the result, 32 KiB at most
	copyParent   = 13 // what fields of a struct point to; size 0: of clone_args; 1: bpf_attr; 2: ifconf; 3: a key
	copyBoth     = 14 // as copyFixed, when the call begins and when it returns
	copyAround   = 15 // as copyElements, likewise
)

const byResult = 7

// piece is 16 bits of a plan. Bits: 0 to 2 the argument, 3 when the call begins, 4 to 7 the
// kind, 8 to 15 the size.
func piece(arg int, early bool, kind, size int) uint64 {
	v := uint64(arg | kind<<4 | size<<8)
	if early {
		v |= 8
	}
	return v
}

// fixed are the sizes of what kinds of arguments point to. The size is in bytes. Those of
// structs in structs.txt are there.
var fixed = map[string]int{"rem": 16, "tss": 32, "tvs": 32, "stat": 144, "statx": 256, "rusage": 144, "rlim": 16,
	"rlim64": 16, "utsname": 392, "fds": 8, "wstatus": 4, "sigset": 8, "sigact": 32, "siginfo": 48, "openhow": 24,
	"sigev": 20, "capdata": 24}

// copies are the pieces of kinds of arguments that are always the same: of which argument, "." the one
// itself; when, "<" when the call begins, ">" when it returns, "?" as the argument says, "!" when it
// begins unless the call writes it; the kind of copy, and its size, p for the argument's parameter.
const copies = `path .?1.0
cwd .?1.0
str .?1.1
mount 2>1.1 4>11.1
hostname .>4.1
offpu .>14.2
ptime .>2.2
vec .>4.1
msgbuf .>2.10
ipcbuf .>2.28
uring_register .<3.35
nodes .!2.32
handle .>14.34
quotactl 1<1.0 3<1.0
fsconfig .>1.0 .>4.4
seccomp 2>2.4
perf .<2.16
bpf 1<6.2 1>2.2 1<13.1
syslog 1>4.7
iocb .>2.16
iocbs .>7.16
uring .>14.30
offp .>14.2
lenp .<2.1
sockaddr .>6.p
sockaddrp .>5.p
gids .>3.15
gidsw .>3.8
cpuset .>12.0
cpusetw .>6.1
argv .<9.0
dents .>12.0
dents64 .>12.0
pollfds .>15.17
clone 2>2.1
clone3 0<2.22 0>13.0
futex 3>2.4
fcntl 2>2.8
ioctl 2>14.11 2>13.2
ptrace 3>2.2 3>14.54
arch_prctl 1>2.2
setsockopt 3>6.4
getsockopt 3>5.4 4<2.1
socketpair 3>2.2
`

// plan is what is copied for a call. Pieces that find no room are left out, and show as
// addresses.
func (d *decoder) plan(c *call) uint64 {
	var ps pieces
	for i, a := range c.args {
		if isWhole := ps.listed(i, a); !isWhole {
			d.piecesByKind(&ps, c, i, a)
		}
	}
	return ps.packed()
}

// pieces are those of a plan, in the order in which they look for room.
type pieces []uint64

func (ps *pieces) add(arg int, early bool, kind, size int) {
	*ps = append(*ps, piece(arg, early, kind, size))
}

// packed is the plan of all pieces that find room: three, and one that takes loops.
func (ps pieces) packed() (plan uint64) {
	at := 0
	for _, p := range ps {
		if kind := p >> 4 & 15; kind >= copyVectors && kind <= copyParent || kind == copySignal {
			plan |= p << 48
		} else if at < 48 {
			plan |= p << at
			at += 16
		}
	}
	return plan
}

// number is the parameter of an argument, 0 if it has none.
func (a arg) number() int {
	if a.param == "" {
		return 0
	}
	return int(a.param[0] - '0')
}

// listed adds the pieces that copies has for an argument, and reports whether these are all.
func (ps *pieces) listed(i int, a arg) (isWhole bool) {
	words, isWhole := entry(copies, a.kind)
	for word := range strings.FieldsSeq(words) {
		arg, early := i, word[1] == '<' || word[1] == '?' && a.early || word[1] == '!' && !a.out
		if word[0] != '.' {
			arg = int(word[0] - '0')
		}
		kind, size, _ := strings.Cut(word[2:], ".")
		k, _ := strconv.Atoi(kind)
		n, err := strconv.Atoi(size)
		if err != nil {
			n = a.number()
		}
		ps.add(arg, early, k, n)
	}
	return isWhole
}

// piecesByKind adds the pieces of an argument of which the kind and the direction decide what is copied.
func (d *decoder) piecesByKind(ps *pieces, c *call, i int, a arg) {
	switch a.kind {
	case "iova":
		// The addresses are shown and not what they lead to: it is another process's memory.
		ps.add(i, false, copyElements, 4<<3|(i+1))
	case "[]sembuf", "[]waitv", "[]ioevent":
		ps.add(i, !a.out, copyElements, (d.layout(a.kind[2:]).size+3)/4<<3|a.number())
	case "ts", "tv", "ts32", "tv32":
		if a.early { // what was not in memory then is, when the call returns
			ps.add(i, false, copyBoth, 4)
		} else {
			ps.add(i, false, copyFixed, 4)
		}
	case "epev", "epctl":
		ps.add(i, false, copyFixed, d.epollSize()/4)
	case "epevs":
		ps.add(i, false, copyElements, d.epollSize()/4<<3|byResult)
	case "msgs":
		ps.add(i, false, copyMessage, 16)
		if a.out { // how much room there is for names
			ps.add(i, true, copyElements, 16<<3|(i+1))
		}
	case "iov":
		ps.add(i, false, copyVectors, i+1)
	case "iovr":
		ps.add(i, false, copyVectors, 8|(i+1))
	case "msghdr":
		if a.out {
			ps.add(i, false, copyMessage, 8)
			ps.add(i, true, copyFixed, 14)
		} else {
			ps.add(i, false, copyMessage, 0)
		}
	default:
		d.piecesByCall(ps, c, i, a)
	}
}

// piecesByCall adds the pieces of an argument of which it depends on the call, on others of its
// arguments or on the processor what is copied.
func (d *decoder) piecesByCall(ps *pieces, c *call, i int, a arg) {
	switch a.kind {
	case "rb", "hexb", "wbx", "xlist", "wb", "xval":
		limit := byResult
		if a.kind == "wb" || a.kind == "xval" {
			limit = a.number()
		}
		ps.add(i, false, copyData, limit)
		// The first piece is as long as strings are shown, and a dump needs all.
		if d.o.wholly(c.name) {
			ps.add(i, false, copyLong, 0)
		}
	case "fdset":
		// One piece copies all three sets; it stands at the first.
		switch {
		case i == 1 && c.args[len(c.args)-1].kind == "psigset":
			ps.add(i, false, copySets, 1)
		case i == 1:
			ps.add(i, false, copySets, 0)
		}
	case "sigreturn":
		// The frame of a handler is laid out by each architecture: so far above the stack
		// pointer the mask is, in words of 8 bytes.
		if d.arch == "arm64" {
			ps.add(0, true, copySignal, 21)
		} else {
			ps.add(0, true, copySignal, 37)
		}
	case "sub":
		// Texts and numbers are in the same places, by the command: a number is no address,
		// and its copy fails.
		if c.name == "keyctl" {
			for n := 1; n <= 3; n++ {
				ps.add(n, false, copyString, 1)
			}
			ps.add(2, false, copyParent, 3)
			return
		}
		// Commands are not told apart here: a number, a name and a struct are copied from
		// where they would be.
		ps.add(1, false, copyFixed, 2)
		ps.add(1, false, copyString, 2)
		ps.add(2, false, copyFixed, 4)
	default:
		d.pieceOfStruct(ps, i, a)
	}
}

// pieceOfStruct adds the piece of an argument that points to something of a fixed size.
func (d *decoder) pieceOfStruct(ps *pieces, i int, a arg) {
	kind := copyFixed
	if a.early {
		kind = copyBoth
	}
	size := fixed[a.kind]
	if strings.HasPrefix(a.kind, "*") {
		size = 8
	}
	if l := d.layout(a.kind); l != nil {
		size = l.size
	}
	if size > 0 {
		ps.add(i, a.early, kind, (size+3)/4)
	}
}

// fds says which arguments of a call are descriptors, one bit for each, and by further bits what
// else is: the result, the array of poll, the pair that the argument 0 or 3 points to. The
// script looks up what is behind these, and behind no others: it takes a walk through the
// kernel's structs for each.
func fds(c *call) (mask uint64) {
	const result, pair, array, third = 64, 128, 256, 512
	for i, a := range c.args {
		switch a.kind {
		case "fd", "at", "fanfd":
			mask |= 1 << i
		case "mmap":
			// The descriptor stands behind the flags.
			mask |= 1 << (i + 1)
		case "getsockopt", "setsockopt":
			mask |= 1
		case "fcntl":
			mask |= result
		case "pollfds":
			mask |= array
		case "fds":
			mask |= pair
		case "socketpair":
			mask |= third
		}
	}
	if c.result == "fd" {
		mask |= result
	}
	return mask
}

// masks is where in the map of plans what fds says begins. It is beyond both tables of calls.
const masks = 4096

// Plans is the part of the script that says what is copied for each call: of those that are
// traced. A map that is filled when the script begins keeps the programs the same for all
// options.
func Plans(o *Options) string {
	var b strings.Builder
	b.WriteString("\nbegin\n{\n")
	appendPlans(&b, o, 0)
	b.WriteString("}\n")
	return b.String()
}

// appendPlans puts them into the map of plans, with some bits set in the numbers of calls. A
// call without a plan still needs an entry where only some are traced: being there is what
// chooses it.
func appendPlans(b *strings.Builder, o *Options, bits int) {
	d := newDecoder(o, o.Arch)
	for nr, name := range d.names {
		if name == "" {
			continue
		}
		c := d.call(nr)
		plan := d.plan(c)
		if mask := fds(c); mask != 0 && (o.Files > 0 || o.Paths != nil) {
			fmt.Fprintf(b, "  @plan[%d] = (uint64)%#x;\n", masks+nr, mask)
		}
		if o.Some() && !o.Traced(name, c.classes) || !o.Some() && plan == 0 {
			continue
		}
		fmt.Fprintf(b, "  @plan[%d] = (uint64)%#x;\n", bits|nr, plan)
	}
}
