package exe

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"slices"
)

// A Note is one location of a USDT probe. A probe has several where the
// compiler copied the code it is in.
type Note struct {
	Provider, Name, Args string
	Addr                 uint64 // of the nop
	Offset               uint64 // of the nop in the file
	Semaphore            uint64 // address of the 16-bit counter, 0 if none
	SemaphoreOffset      uint64 // of the counter in the file, 0 if none
	Err                  error  // why it cannot be attached to
}

const (
	stapType = 3
	stapName = "stapsdt\x00"
	maxNotes = 1 << 20
)

// USDT lists the USDT locations of a file in the order of the notes. A note
// that can be read but not used has Err set; malformed notes end the list
// with an error.
func (f *File) USDT() ([]Note, error) {
	all := allNotes.Of(f)
	return slices.Clip(all.notes), all.err
}

// allNotes are the notes of a file.
var allNotes = FactOf(func(f *File) (all foundNotes) {
	all.notes, all.err = f.readUSDT()
	return all
})

type foundNotes struct {
	notes []Note
	err   error
}

// readUSDT reads the notes of marks. Those that were read before a malformed one come with the
// error.
func (f *File) readUSDT() ([]Note, error) {
	sec := f.sectionNamed(".note.stapsdt")
	if sec == nil {
		return nil, nil
	}
	data := f.bytes(sec)
	if data == nil {
		return nil, fmt.Errorf("%s: .note.stapsdt lies outside of the file", f.Path)
	}
	base := f.sectionNamed(".stapsdt.base")
	var out []Note
	for len(data) > 0 {
		desc, rest, ok, err := f.note(data, stapType, stapName)
		if err != nil {
			return out, fmt.Errorf("%s: .note.stapsdt: %w", f.Path, err)
		}
		data = rest
		if !ok {
			continue
		}
		n, err := f.usdtNote(desc, base)
		if err != nil {
			return out, fmt.Errorf("%s: .note.stapsdt: %w", f.Path, err)
		}
		if len(out) == maxNotes {
			return out, fmt.Errorf("%s: more than %d USDT notes", f.Path, maxNotes)
		}
		out = append(out, n)
	}
	return out, nil
}

// note splits the first note off data; ok says whether type and name are the
// wanted ones.
func (f *File) note(data []byte, typ uint32, name string) (desc, rest []byte, ok bool, err error) {
	if len(data) < 12 {
		if len(bytes.Trim(data, "\x00")) == 0 {
			return nil, nil, false, nil // padding
		}
		return nil, nil, false, fmt.Errorf("%d bytes are too few for a note", len(data))
	}
	namesz, descsz, t := uint64(f.order.Uint32(data)), uint64(f.order.Uint32(data[4:])), f.order.Uint32(data[8:])
	nameEnd := 12 + namesz
	descStart := (nameEnd + 3) &^ 3
	descEnd := descStart + descsz
	if descEnd > uint64(len(data)) {
		return nil, nil, false, fmt.Errorf("note is cut off")
	}
	ok = t == typ && string(data[12:nameEnd]) == name
	rest = data[min((descEnd+3)&^3, uint64(len(data))):]
	return data[descStart:descEnd], rest, ok, nil
}

// usdtNote reads a note: three addresses, then provider, name and arguments as strings.
func (f *File) usdtNote(desc []byte, base *section) (n Note, err error) {
	w := f.wordSize()
	if len(desc) < 3*w {
		return n, fmt.Errorf("descriptor of %d bytes is too short", len(desc))
	}
	n.Addr = f.word(desc)
	linkBase := f.word(desc[w:])
	n.Semaphore = f.word(desc[2*w:])
	strs := desc[3*w:]
	var parts [3]string
	for i := range parts {
		end := bytes.IndexByte(strs, 0)
		if end < 0 {
			return n, fmt.Errorf("descriptor lacks strings")
		}
		parts[i], strs = string(strs[:end]), strs[end+1:]
	}
	n.Provider, n.Name, n.Args = parts[0], parts[1], parts[2]
	if base != nil {
		// Prelink moved the file after it was linked.
		delta := base.addr - linkBase
		n.Addr += delta
		if n.Semaphore != 0 {
			n.Semaphore += delta
		}
	}
	if !f.class64 {
		n.Addr, n.Semaphore = n.Addr&0xffffffff, n.Semaphore&0xffffffff
	}
	var ok bool
	if n.Offset, ok = f.CodeOffset(n.Addr); !ok {
		n.Err = fmt.Errorf("%s: USDT probe %s:%s is at %#x, outside of the file's code", f.Path,
			n.Provider, n.Name, n.Addr)
		return n, nil
	}
	n.Offset += f.Start
	if n.Semaphore != 0 {
		n.SemaphoreOffset, ok = f.offsetIn(n.Semaphore, elf.PF_W)
		if n.SemaphoreOffset += f.Start; !ok {
			n.Err = fmt.Errorf("%s: the semaphore of USDT probe %s:%s is at %#x, outside of the file's data", f.Path,
				n.Provider, n.Name, n.Semaphore)
		}
	}
	return n, nil
}

const (
	buildIDType = 3
	gnuName     = "GNU\x00"
)

// BuildID is the GNU build ID, nil if the file has none.
func (f *File) BuildID() []byte {
	left := 2 * len(f.c.mem) // segments and sections show the same notes, each no part of them twice
	for _, list := range [...][]section{f.notes, f.sections} {
		for i := range list {
			if list[i].typ != elf.SHT_NOTE {
				continue
			}
			notes := f.bytes(&list[i])
			if left -= len(notes); left < 0 {
				return nil
			}
			if id := f.buildIDIn(notes); id != nil {
				return id
			}
		}
	}
	return nil
}

func (f *File) buildIDIn(notes []byte) []byte {
	for len(notes) > 0 {
		desc, rest, ok, err := f.note(notes, buildIDType, gnuName)
		if err != nil {
			break
		}
		if ok && len(desc) > 0 {
			return desc
		}
		notes = rest
	}
	return nil
}

// KernelBuildID is the build ID among the notes of the running kernel, as they
// are in /sys/kernel/notes; nil if there is none.
func KernelBuildID(notes []byte) []byte {
	return (&File{order: binary.NativeEndian}).buildIDIn(notes)
}
