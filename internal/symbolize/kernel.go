// Package symbolize turns addresses into names: of the kernel by asking the
// kernel itself, of processes through their mappings and the symbol tables of
// the files behind them.
//
// Nothing is read before the first address is looked up. What was learnt is
// kept, so that processes that have ended since still resolve if they were
// seen (or announced by Remember) while they lived.
package symbolize

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/machine"
)

// A Symbol is what a kernel address resolves to.
type Symbol struct {
	Name   string
	Offset uint64 // from the start of the symbol, bytes
	Module string // "" for the kernel itself
	OK     bool   // false: no symbol is near
}

// Kernel names kernel addresses. Its methods may be called from several
// goroutines.
type Kernel struct {
	machine *machine.Machine

	mu    sync.Mutex
	cache map[uint64]Symbol
	asked bool // whether asker and table have been set up
	asker *asker
	table *machine.KernelSymbols
	err   error
	image kernelImage
}

// maxCached bounds the caches of single addresses.
const maxCached = 1 << 17

// NewKernel returns a symbolizer for the kernel of a machine.
func NewKernel(t *machine.Machine) *Kernel { return &Kernel{machine: t} }

// Close releases what the kernel holds for it.
func (k *Kernel) Close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.asker != nil {
		k.asker.close()
		k.asker, k.asked = nil, false
	}
	k.image.close()
}

// Err is why addresses cannot be resolved at all, nil if they can or none has
// been looked up yet.
func (k *Kernel) Err() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}

// Lookup names the symbol at or below an address.
func (k *Kernel) Lookup(addr uint64) (name string, off uint64, ok bool) {
	s := k.Symbol(addr)
	return s.Name, s.Offset, s.OK
}

// Symbol is Lookup with the module.
func (k *Kernel) Symbol(addr uint64) Symbol {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.symbol(addr)
}

// symbol is Symbol with mu held. All answers are kept, also that there is none.
func (k *Kernel) symbol(addr uint64) Symbol {
	if s, ok := k.cache[addr]; ok {
		return s
	}
	if !k.asked {
		k.asked = true
		k.setUp()
	}
	var s Symbol
	switch {
	case addr>>63 == 0:
		// Kernel addresses have the top bit set on the machines we know;
		// %pS would print others as numbers anyway.
	case k.asker != nil:
		s = k.asker.ask(addr)
	case k.table != nil:
		s.Name, s.Module, s.Offset, s.OK = k.table.Lookup(addr)
	}
	if len(k.cache) >= maxCached {
		k.cache = nil
	}
	if k.cache == nil {
		k.cache = make(map[uint64]Symbol)
	}
	k.cache[addr] = s
	return s
}

// setUp prefers the kernel's own answers: 2 µs an address instead of 100 ms
// and 20 MB for the table, and right for modules and programs that come and
// go.
func (k *Kernel) setUp() {
	var err error
	if k.machine.Live() {
		if err = k.machine.Has(machine.Snprintf); err == nil {
			if k.asker, err = newAsker(); err == nil {
				return
			}
		}
	}
	var terr error
	if k.table, terr = k.machine.KernelSymbols(); terr != nil {
		if err == nil {
			k.err = terr
		} else {
			k.err = fmt.Errorf("%w; %w", terr, err)
		}
	}
}

// nameSize holds "symbol+0x…/0x… [module]": KSYM_NAME_LEN is 512, module
// names have up to 56 bytes.
const nameSize = 640

// An asker is a program that prints an address with the kernel's %pS.
type asker struct {
	prog, out, format int    // descriptors
	text              []byte // the map value of out
}

func newAsker() (*asker, error) {
	a := &asker{prog: -1, out: -1, format: -1}
	if err := a.load(); err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

// load makes two maps, for the format, which the helper wants frozen and read-only, and for the
// text, and the program that fills one by the other. It is run by BPF_PROG_TEST_RUN and attached to
// nothing.
func (a *asker) load() (err error) {
	if a.out, err = bpf.MapCreate(bpf.MapSpec{Type: bpf.Array, KeySize: 4, ValueSize: nameSize, MaxEntries: 1,
		Flags: bpf.Mmapable}); err != nil {
		return fmt.Errorf("map for symbol names: %w", err)
	}
	if a.format, err = bpf.MapCreate(bpf.MapSpec{Type: bpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1,
		Flags: bpf.ProgReadOnly}); err != nil {
		return fmt.Errorf("map for a format: %w", err)
	}
	if err = bpf.MapUpdate(a.format, make([]byte, 4), []byte("%pS\x00\x00\x00\x00\x00"), 0); err == nil {
		err = bpf.MapFreeze(a.format)
	}
	if err != nil {
		return fmt.Errorf("map for a format: %w", err)
	}
	size := (nameSize + unix.Getpagesize() - 1) &^ (unix.Getpagesize() - 1)
	if a.text, err = unix.Mmap(a.out, 0, size, unix.PROT_READ, unix.MAP_SHARED); err != nil {
		return fmt.Errorf("mmap of symbol names: %w", err)
	}
	insns := []uint64{
		bpf.Load64(1, 1, 0), // the address
		bpf.Store64(10, 1, -8),
	}
	insns = append(insns, bpf.LoadMapValue(1, a.out)...)
	insns = append(insns, bpf.MovImm(2, nameSize))
	insns = append(insns, bpf.LoadMapValue(3, a.format)...)
	insns = append(insns,
		bpf.MovReg(4, 10),
		bpf.AddImm(4, -8),
		bpf.MovImm(5, 8),
		bpf.CallHelper(asm.FnSnprintf),
		bpf.MovImm(0, 0),
		bpf.Exit(),
	)
	a.prog, err = bpf.ProgLoad(&bpf.ProgSpec{Type: bpf.RawTracepoint, Insns: bpf.Assemble(insns...), License: "GPL"})
	if err != nil {
		return fmt.Errorf("program for symbol names: %w", err)
	}
	return nil
}

func (a *asker) close() {
	if a.text != nil {
		unix.Munmap(a.text)
		a.text = nil
	}
	for _, fd := range [...]int{a.prog, a.out, a.format} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
	a.prog, a.out, a.format = -1, -1, -1
}

func (a *asker) ask(addr uint64) Symbol {
	var ctx [8]byte
	binary.NativeEndian.PutUint64(ctx[:], addr)
	if _, err := bpf.TestRun(a.prog, ctx[:]); err != nil {
		return Symbol{}
	}
	end := bytes.IndexByte(a.text[:nameSize], 0)
	if end < 0 {
		return Symbol{}
	}
	return parseSymbol(string(a.text[:end]))
}

// parseSymbol parses what %pS prints: "name+0x1/0x20 [module]", and just a
// number for what is no symbol.
func parseSymbol(text string) Symbol {
	rest, module := text, ""
	if before, after, ok := strings.Cut(rest, " ["); ok {
		// The kernel may add a build ID to the module.
		rest, module = before, strings.TrimSuffix(after, "]")
		module, _, _ = strings.Cut(module, " ")
	}
	i := strings.LastIndex(rest, "+0x")
	if i <= 0 {
		return Symbol{}
	}
	hex, _, _ := strings.Cut(rest[i+3:], "/")
	off, err := strconv.ParseUint(hex, 16, 64)
	if err != nil {
		return Symbol{}
	}
	return Symbol{Name: rest[:i], Offset: off, Module: module, OK: true}
}
