package cdef

import (
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/types"
)

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

// constantText is the value of a constant as the table has it; the name is NAME or NAME@ARCH.
// The lines are in the order of their bytes, and each name of a script is looked for here: halving
// finds it in a dozen steps.
func constantText(name string) (string, bool) {
	name += " "
	all := constants()
	for low, high := 0, len(all); low < high; {
		line := low + strings.LastIndexByte(all[low:(low+high)/2], '\n') + 1
		rest, found := strings.CutPrefix(all[line:], name)
		end := strings.IndexByte(rest, '\n')
		switch {
		case found:
			return rest[:end], true
		case rest < name:
			low = line + end + 1
		default:
			high = line
		}
	}
	return "", false
}

// hasConstants reports whether scripts can do without a header: it defines
// constants that come with hawk, or types that the language has.
// A script for another tool includes them out of habit, on machines that have no headers at
// all.
func hasConstants(header string) bool {
	switch header {
	case "errno.h", "signal.h", "sys/signal.h", "sys/socket.h", "netinet/in.h", "netinet/tcp.h", "netinet/ip.h",
		"netinet/icmp6.h", "netinet/ip_icmp.h", "netinet/if_ether.h", "net/if_arp.h", "net/if.h",
		"arpa/inet.h", "fcntl.h", "sys/fcntl.h", "sys/stat.h", "sys/mman.h", "sched.h", "poll.h", "sys/poll.h",
		"sys/epoll.h", "limits.h", "stdint.h", "inttypes.h", "dirent.h", "sys/mount.h", "sys/resource.h",
		"sys/wait.h", "sys/inotify.h", "sys/prctl.h", "sys/ptrace.h", "sys/file.h", "sys/types.h", "time.h",
		"sys/time.h", "unistd.h", "sys/param.h", "linux/capability.h":
		return true
	}
	return false
}

// second are names that headers have beside the usual one, and those of a part of a number
// that is not one of its values.
var second = []string{"O_NDELAY", "O_RSYNC", "MAP_ANON", "MAP_FILE", "MAP_TYPE", "AF_FILE", "AF_LOCAL", "AF_ROUTE",
	"PF_FILE", "PF_LOCAL", "PF_ROUTE", "EWOULDBLOCK", "EDEADLOCK", "AT_STATX_SYNC_TYPE", "CAP_LAST_CAP"}

// apart are names of a header whose prefix other ones of another header have.
var apart = map[string]string{
	"MS_ASYNC": "sys/mman.h", "MS_INVALIDATE": "sys/mman.h", "MS_SYNC": "sys/mman.h",
}

// Constants are those whose names begin with a prefix, in order of names, each value by its
// usual name. The header, which may be "", decides between those of several. Masks and shifts,
// which are no values, are left out; NAME_ACCMODE stays.
// flags() and enumname() ask, for names that belong together by their prefix alone. Of two
// names for a value the one that is usual stays.
func Constants(prefix, header, arch string) []types.EnumValue {
	var out []types.EnumValue
	// Two headers may use one prefix, as MS_ of mount(2) and of msync(2).
	home := map[bool]bool{} // of names that are apart, and of others: are they of the header?
	for name, of := range apart {
		if strings.HasPrefix(name, prefix) && header != "" {
			home = map[bool]bool{true: of == header, false: of != header}
		}
	}
	for line := range strings.Lines(constants()) {
		name, _, _ := strings.Cut(line, " ")
		name, _, _ = strings.Cut(name, "@")
		if !strings.HasPrefix(name, prefix) || slices.Contains(second, name) ||
			len(home) > 0 && !home[apart[name] != ""] ||
			strings.HasSuffix(name, "_MASK") || strings.HasSuffix(name, "_SHIFT") || strings.HasSuffix(name, "_MAX") ||
			len(out) > 0 && out[len(out)-1].Name == name {
			continue
		}
		if v, ok := Constant(name, arch); ok {
			out = append(out, types.EnumValue{Name: name, Value: int64(v)})
		}
	}
	return out
}

// IsHeader reports whether constants of a header are known.
// A misspelt header would else leave the set as it is without it, in silence.
func IsHeader(name string) bool {
	return hasConstants(name) || hasConstants(strings.TrimPrefix(name, "linux/"))
}
