package symbolize

import "github.com/hawktrace/hawk/internal/exe"

// A kernelImage is the file of the kernel with its debug information.
type kernelImage struct {
	tried bool
	elf   *exe.File // nil if there is none
	moved uint64    // how far the kernel is from the addresses it was linked for
	infos infos
	info  info
}

// Source says where the instruction at an address of the kernel itself comes
// from; ok is false if that is not known, as of modules.
func (k *Kernel) Source(addr uint64) (src Source, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if s := k.symbol(addr); !s.OK || s.Module != "" {
		return src, false
	}
	i := &k.image
	if !i.tried {
		i.tried = true
		k.findImage()
	}
	if i.elf == nil {
		return src, false
	}
	return i.infos.at(&i.info, i.elf, "", addr-i.moved, func(name string) string { return name })
}

// DebugInfo is that of User. The directories are those of the target.
func (k *Kernel) DebugInfo(warn func(error)) { k.image.infos.warn = warn }

// findImage opens the image and compares where a symbol is there with where it
// is in memory.
func (k *Kernel) findImage() {
	i := &k.image
	e := k.machine.KernelImage()
	if e == nil {
		return
	}
	const name = "_stext"
	linked, ok := e.Variable(name)
	symbols, err := k.machine.KernelSymbols()
	if err == nil && ok {
		var at uint64
		if at, ok = symbols.Address(name); ok {
			i.elf, i.moved = e, at-linked.Addr
			return
		}
	}
	if err != nil && i.infos.warn != nil {
		i.infos.warn(err)
	}
	e.Close()
}

func (i *kernelImage) close() {
	i.infos.close()
	if i.elf != nil {
		i.elf.Close()
	}
}
