package strace

import (
	"fmt"
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
	copyVectors  = 7  // an array of buffers and what is in them; size as for copyElements, 8: of the result
	copyMessage  = 8  // a struct msghdr and all that it points to; size 8: only what was received; 16: an array
	copyStrings  = 9  // an array of pointers and the strings, and the pointers of the argument behind it
	copySets     = 10 // the three sets of select, when it begins and when it returns
	copyMask     = 11 // a pointer to a signal mask and the mask; size 1: a string as long as strings are shown
	copyLong     = 12 // as many bytes as the result, 32 KiB at most
	copyParent   = 13 // what fields of struct clone_args point to; size 1: the text at byte 16 of what is given
	copyBoth     = 14 // as copyFixed, when the call begins and when it returns
	copyAround   = 15 // as copyElements, likewise
)

const byResult = 7

// piece is 16 bits of a plan.
func piece(arg int, early bool, kind, size int) uint64 {
	v := uint64(arg | kind<<4 | size<<8)
	if early {
		v |= 8
	}
	return v
}

// fixed are the sizes of what kinds of arguments point to.
var fixed = map[string]int{"ts": 16, "tv": 16, "rem": 16, "tss": 32, "tvs": 32, "its": 32, "itv": 32, "stat": 144,
	"statx": 256, "statfs": 120, "rusage": 144, "rlim": 16, "rlim64": 16, "utsname": 392, "sysinfo": 112, "tms": 32,
	"fds": 8, "intp": 4, "uidp": 4, "intlist": 4, "wstatus": 4, "sigset": 8, "sigact": 32, "stack": 24, "siginfo": 48,
	"openhow": 24, "caphdr": 8, "sigev": 16, "capdata": 24}

// plan is what is copied for a call.
func (d *decoder) plan(c *call) uint64 {
	var pieces []uint64
	add := func(arg int, early bool, kind, size int) { pieces = append(pieces, piece(arg, early, kind, size)) }
	for i, a := range c.args {
		param := 0
		if a.param != "" {
			param = int(a.param[0] - '0')
		}
		switch a.kind {
		case "path", "cwd":
			add(i, a.early, copyString, 0)
		case "str":
			add(i, a.early, copyString, 1)
		case "mount":
			add(2, true, copyString, 1)
			add(4, true, copyMask, 1)
		case "vec":
			add(i, false, copyData, 1) // as many bytes as pages are more than enough
		case "msgbuf":
			add(i, false, copyFixed, 10)
		case "iova":
			add(i, false, copyElements, 4<<3|(i+1))
		case "[]sembuf", "[]waitv", "[]ioevent":
			add(i, !a.out, copyElements, (d.layout(a.kind[2:]).size+3)/4<<3|param)
		case "ipcbuf":
			add(i, false, copyFixed, 28)
		case "uring_register":
			add(i, true, copyElements, 4<<3|3)
		case "nodes":
			add(i, !a.out, copyFixed, 32)
		case "handle":
			add(i, false, copyBoth, 34)
		case "quotactl":
			add(1, true, copyString, 0)
			add(3, true, copyString, 0)
		case "fsconfig":
			add(i, true, copyString, 0)
		case "seccomp":
			add(2, false, copyFixed, 4)
		case "perf":
			add(i, true, copyFixed, 16)
		case "bpf":
			add(1, true, copyNumbered, 2)
			add(1, true, copyParent, 1)
		case "syslog":
			add(1, false, copyData, byResult)
		case "msgs":
			add(i, false, copyMessage, 16)
		case "uring":
			add(i, false, copyBoth, 30)
		case "rb", "hexb", "wbx", "xlist":
			add(i, false, copyData, byResult)
			if d.o.wholly(c.name) {
				add(i, false, copyLong, 0)
			}
		case "wb", "xval":
			add(i, false, copyData, param)
			if d.o.wholly(c.name) {
				add(i, false, copyLong, 0)
			}
		case "ts", "tv", "ts32", "tv32":
			if a.early { // what was not in memory then is, when the call returns
				add(i, false, copyBoth, 4)
			} else {
				add(i, a.early, copyFixed, 4)
			}
		case "offp":
			add(i, false, copyBoth, 2)
		case "lenp":
			add(i, true, copyFixed, 1)
		case "sockaddr":
			add(i, false, copyNumbered, param)
		case "sockaddrp":
			add(i, false, copyPointed, param)
		case "gids":
			add(i, false, copyElements, 1<<3|byResult)
		case "gidsw":
			add(i, false, copyElements, 1<<3|0)
		case "cpuset":
			add(i, false, copyLong, 0)
		case "cpusetw":
			add(i, false, copyNumbered, 1)
		case "argv":
			add(i, true, copyStrings, 0)
		case "dents", "dents64":
			add(i, false, copyLong, 0)
		case "pollfds":
			add(i, false, copyAround, 2<<3|1)
		case "epev", "epctl":
			add(i, false, copyFixed, d.epollSize()/4)
		case "epevs":
			add(i, false, copyElements, d.epollSize()/4<<3|byResult)
		case "fdset":
			if i == 1 {
				add(i, false, copySets, 0)
			}
		case "psigset":
			add(i, true, copyMask, 0)
		case "iov":
			add(i, false, copyVectors, i+1)
		case "iovr":
			add(i, false, copyVectors, 8|(i+1))
		case "msghdr":
			if a.out {
				add(i, false, copyMessage, 8)
				add(i, true, copyFixed, 14)
			} else {
				add(i, false, copyMessage, 0)
			}
		case "clone":
			add(2, false, copyFixed, 1)
		case "clone3":
			add(0, true, copyFixed, 22)
			add(0, false, copyParent, 0)
		case "sigreturn":
			if d.arch == "arm64" {
				add(0, true, copySignal, 21)
			} else {
				add(0, true, copySignal, 37)
			}
		case "futex":
			add(3, false, copyFixed, 4)
		case "sub":
			if c.name == "keyctl" {
				for n := 1; n <= 3; n++ {
					add(n, false, copyString, 1)
				}
				continue
			}
			add(1, false, copyFixed, 2)
			add(1, false, copyString, 2)
			add(2, false, copyFixed, 4)
		case "fcntl":
			add(2, false, copyFixed, 8)
		case "ioctl":
			add(2, false, copyFixed, 11)
		case "arch_prctl":
			add(1, false, copyFixed, 2)
		case "setsockopt":
			add(3, false, copyNumbered, 4)
		case "getsockopt":
			add(3, false, copyPointed, 4)
			add(4, true, copyFixed, 1)
		case "socketpair":
			add(3, false, copyFixed, 2)
		default:
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
				add(i, a.early, kind, (size+3)/4)
			}
		}
	}
	var plan uint64
	at := 0
	for _, p := range pieces {
		if kind := p >> 4 & 15; kind >= copyVectors && kind <= copyParent || kind == copySignal {
			plan |= p << 48
		} else if at < 48 {
			plan |= p << at
			at += 16
		}
	}
	return plan
}

// fds says which arguments of a call are descriptors, one bit for each, and by further bits what
// else is: the result, the array of poll, the pair that the argument 0 or 3 points to.
func fds(c *call) (mask uint64) {
	const result, pair, array, third = 64, 128, 256, 512
	for i, a := range c.args {
		switch a.kind {
		case "fd", "at":
			mask |= 1 << i
		case "mmap":
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

// masks is where in the map of plans what fds says begins.
const masks = 4096

// Plans is the part of the script that says what is copied for each call: of those that are
// traced.
func Plans(o *Options) string {
	d := newDecoder(o, o.Arch)
	var b strings.Builder
	b.WriteString("\nbegin\n{\n")
	for nr, name := range d.names {
		if name == "" {
			continue
		}
		c := d.call(nr)
		plan := d.plan(c)
		if mask := fds(c); mask != 0 && (o.Files > 0 || o.Paths != nil) {
			fmt.Fprintf(&b, "  @plan[%d] = (uint64)%#x;\n", masks+nr, mask)
		}
		if o.Some() && !o.Traced(name, c.classes) || !o.Some() && plan == 0 {
			continue
		}
		fmt.Fprintf(&b, "  @plan[%d] = (uint64)%#x;\n", nr, plan)
	}
	b.WriteString("}\n")
	return b.String()
}
