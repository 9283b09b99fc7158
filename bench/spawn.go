package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// soakMark is the environment variable that makes this program the one that starts short-lived
// processes: it holds a directory for them and for how long to go on.
const soakMark = "HAWK_BENCH_SOAK"

// spawn starts soakProcesses small programs, each from a new file, at an even pace.
func spawn() error {
	dir, text, _ := strings.Cut(os.Getenv(soakMark), ":")
	duration, err := time.ParseDuration(text)
	if err != nil {
		return err
	}
	begin := time.Now()
	for i := range soakProcesses {
		// Each is due by the clock and not after the one before, so that a delay is made up for
		// and the number stays what it is.
		due := begin.Add(duration * time.Duration(i) / soakProcesses)
		if time.Since(begin) > duration {
			break // a machine that is slower starts fewer
		}
		time.Sleep(time.Until(due))
		name := filepath.Join(dir, fmt.Sprintf("short-%d", i))
		if err := os.WriteFile(name, smallProgram(uint32(i)), 0o755); err != nil {
			return err
		}
		if err := exec.Command(name).Run(); err != nil {
			return err
		}
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	return nil
}

// smallProgram is an executable of x86-64 that asks for its parent's number and ends. No two
// numbers give the same. A new file for each process is the worst case for what a tool remembers
// about files, by their number or by their content: the word behind the code makes contents
// differ. An ELF of 140 bytes, without sections or an interpreter, keeps the cost of starting it
// low.
func smallProgram(number uint32) []byte {
	const base, head = 0x400000, 64 + 56
	code := []byte{
		0xb8, 110, 0, 0, 0, 0x0f, 0x05, // getppid
		0x31, 0xff, 0xb8, 60, 0, 0, 0, 0x0f, 0x05, // exit(0)
	}
	size := uint64(head + len(code) + 4)
	var b bytes.Buffer
	for _, part := range []any{
		elf.Header64{
			Ident:   [16]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
			Type:    uint16(elf.ET_EXEC),
			Machine: uint16(elf.EM_X86_64), Version: 1, Entry: base + head, Phoff: 64, Ehsize: 64, Phentsize: 56,
			Phnum: 1, Shentsize: 64,
		},
		elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Vaddr: base, Paddr: base,
			Filesz: size, Memsz: size, Align: 0x1000},
		code, number,
	} {
		binary.Write(&b, binary.LittleEndian, part) // to memory: it does not fail
	}
	return b.Bytes()
}
