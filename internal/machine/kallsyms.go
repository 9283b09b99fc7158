package machine

import (
	"bytes"
	"errors"
	"fmt"
	"sort"
)

// KernelSymbols is /proc/kallsyms. It takes some 100 ms and 20 MB to read:
// for names of addresses ask the kernel where it can answer (package
// symbolize).
type KernelSymbols struct {
	text  []byte
	addrs []uint64 // sorted
	names []uint32 // offsets in text of the symbols at addrs
}

// ErrHidden is returned when the kernel shows zeros instead of addresses.
var ErrHidden = errors.New("the kernel hides its addresses (sysctl kernel.kptr_restrict)")

// KernelSymbols reads the symbols of the kernel and its modules.
func (t *Machine) KernelSymbols() (*KernelSymbols, error) {
	return t.symbols.get(func() (*KernelSymbols, error) {
		data, err := t.read("/proc/kallsyms")
		if err != nil {
			return nil, err
		}
		return parseKallsyms(data)
	})
}

// parseKallsyms indexes the text by addresses. The kernel's part is sorted, modules follow in no
// order.
func parseKallsyms(data []byte) (*KernelSymbols, error) {
	if len(data) > 1<<31 {
		return nil, fmt.Errorf("kallsyms of %d bytes", len(data))
	}
	k := &KernelSymbols{text: data}
	n := bytes.Count(data, []byte("\n")) + 1
	k.addrs, k.names = make([]uint64, 0, n), make([]uint32, 0, n)
	lines, sorted := 0, true
	for off := 0; off < len(data); {
		end := bytes.IndexByte(data[off:], '\n')
		if end < 0 {
			end = len(data) - off
		}
		addr, typ, name, _, ok := parseKallsym(data[off : off+end])
		if ok {
			lines++
			// Absolute symbols are numbers and offsets in per-CPU areas, not addresses.
			if addr != 0 && typ != 'A' && typ != 'a' {
				if m := len(k.addrs); m > 0 && addr < k.addrs[m-1] {
					sorted = false
				}
				k.addrs = append(k.addrs, addr)
				k.names = append(k.names, uint32(off+cap(data[off:])-cap(name))) // where name starts
			}
		}
		off += end + 1
	}
	if lines > 0 && len(k.addrs) == 0 {
		return nil, ErrHidden
	}
	if !sorted {
		sort.Stable((*byAddr)(k))
	}
	return k, nil
}

// A byAddr sorts addresses and names together, stably: the first of several at one address counts.
type byAddr KernelSymbols

func (k *byAddr) Len() int           { return len(k.addrs) }
func (k *byAddr) Less(i, j int) bool { return k.addrs[i] < k.addrs[j] }
func (k *byAddr) Swap(i, j int) {
	k.addrs[i], k.addrs[j] = k.addrs[j], k.addrs[i]
	k.names[i], k.names[j] = k.names[j], k.names[i]
}

// parseKallsym parses "ffffffff81000000 T name\t[module]".
func parseKallsym(line []byte) (addr uint64, typ byte, name, module []byte, ok bool) {
	i := 0
	for ; i < len(line) && line[i] != ' '; i++ {
		c := line[i]
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		default:
			return 0, 0, nil, nil, false
		}
		addr = addr<<4 | uint64(c)
	}
	if i == 0 || i+3 >= len(line) || line[i+2] != ' ' {
		return 0, 0, nil, nil, false
	}
	typ, name = line[i+1], line[i+3:]
	if t := bytes.IndexByte(name, '\t'); t >= 0 {
		name, module = name[:t], bytes.Trim(name[t+1:], "[]")
	}
	return addr, typ, name, module, len(name) > 0
}

// name is the i-th symbol and its module.
func (k *KernelSymbols) name(i int) (name, module string) {
	line, _, _ := bytes.Cut(k.text[k.names[i]:], []byte("\n"))
	n, m, _ := bytes.Cut(line, []byte("\t"))
	return string(n), string(bytes.Trim(m, "[]"))
}

// Lookup finds the symbol at or below an address; module is "" for the
// kernel itself.
func (k *KernelSymbols) Lookup(addr uint64) (name, module string, offset uint64, ok bool) {
	i := sort.Search(len(k.addrs), func(i int) bool { return k.addrs[i] > addr }) - 1
	if i < 0 {
		return "", "", 0, false
	}
	// The kernel prints the first of several at one address.
	for i > 0 && k.addrs[i-1] == k.addrs[i] {
		i--
	}
	name, module = k.name(i)
	return name, module, addr - k.addrs[i], true
}

// Extent is how many bytes there are from an address to the next symbol, 0 if
// there is none.
func (k *KernelSymbols) Extent(addr uint64) uint64 {
	i := sort.Search(len(k.addrs), func(i int) bool { return k.addrs[i] > addr })
	if i == len(k.addrs) {
		return 0
	}
	return k.addrs[i] - addr
}

// Address finds a symbol by name, in the kernel first.
func (k *KernelSymbols) Address(name string) (uint64, bool) {
	want := append([]byte{' '}, name...)
	for from := 0; name != ""; {
		i := bytes.Index(k.text[from:], want)
		if i < 0 {
			break
		}
		at := from + i
		from = at + len(want)
		if from < len(k.text) && k.text[from] != '\n' && k.text[from] != '\t' {
			continue
		}
		start := bytes.LastIndexByte(k.text[:at], '\n') + 1
		if addr, _, n, _, ok := parseKallsym(k.text[start:from]); ok && string(n) == name && addr != 0 {
			return addr, true
		}
	}
	return 0, false
}
