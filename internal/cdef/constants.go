package cdef

import (
	_ "embed"
	"strings"
)

// constants are the names that scripts use from headers of the kernel and the
// C library, sorted, a name and its value in a line. NAME@ARCH has a value on
// one architecture only. They are searched as text, since hardly a run of hawk
// needs more than a few.
//
//go:embed constants.txt
var constants string

// Constant is the value of a constant that headers define as a macro and the
// kernel's type information does not have: AF_INET, O_CREAT, ENOENT,
// NSEC_PER_SEC. Negative values are in two's complement.
func Constant(name, arch string) (value uint64, ok bool) {
	if strings.IndexByte(name, '@') >= 0 {
		return 0, false
	}
	text, ok := constantText(name + "@" + arch)
	if !ok {
		if text, ok = constantText(name); !ok {
			return 0, false
		}
	}
	text, negative := strings.CutPrefix(text, "-")
	n, err := parseNumber(text)
	if negative {
		n.v = -n.v
	}
	return n.v, err == nil
}

func constantText(name string) (string, bool) {
	rest, first := strings.CutPrefix(constants, name+" ")
	if !first {
		i := strings.Index(constants, "\n"+name+" ")
		if i < 0 {
			return "", false
		}
		rest = constants[i+len(name)+2:]
	}
	value, _, ok := strings.Cut(rest, "\n")
	return value, ok
}

// hasConstants reports whether scripts can do without a header: it defines
// constants that come with hawk, or types that the language has.
func hasConstants(header string) bool {
	switch header {
	case "errno.h", "signal.h", "sys/signal.h", "sys/socket.h", "netinet/in.h", "netinet/tcp.h", "netinet/ip.h",
		"netinet/icmp6.h", "netinet/ip_icmp.h", "netinet/if_ether.h", "net/if_arp.h", "net/if.h",
		"arpa/inet.h", "fcntl.h", "sys/fcntl.h", "sys/stat.h", "sys/mman.h", "sched.h", "poll.h", "sys/poll.h",
		"sys/epoll.h", "limits.h", "stdint.h", "inttypes.h", "dirent.h", "sys/mount.h", "sys/resource.h",
		"sys/wait.h", "sys/inotify.h", "sys/prctl.h", "sys/ptrace.h", "sys/file.h", "sys/types.h", "time.h",
		"sys/time.h", "unistd.h", "sys/param.h":
		return true
	}
	return false
}
