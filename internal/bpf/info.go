package bpf

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ProgInfo describes a program that is loaded.
type ProgInfo struct {
	ID    uint32
	Type  ProgramType
	Name  string   // cut by the kernel to NameLen
	BTF   uint32   // ID of the BTF that Funcs refer to, 0: none
	Funcs []uint32 // BTF types of the main function and its subprograms
}

// progInfo is struct bpf_prog_info as far as it is asked for.
type progInfo struct {
	typ, id                                         uint32
	tag                                             [8]byte
	jitedLen, xlatedLen                             uint32
	jited, xlated                                   unsafe.Pointer
	loadTime                                        uint64
	uid, mapCount                                   uint32
	maps                                            unsafe.Pointer
	name                                            [NameLen + 1]byte
	ifindex, flags                                  uint32
	netnsDev, netnsIno                              uint64
	ksymCount, lenCount                             uint32
	ksyms, lens                                     unsafe.Pointer
	btf, funcRec                                    uint32
	funcs                                           unsafe.Pointer
	funcCount, lineCount                            uint32
	lines, jitedLines                               unsafe.Pointer
	jitedLineCount, lineRec, jitedLineRec, tagCount uint32
	tags                                            unsafe.Pointer
	runNanos, runs                                  uint64 // while somebody asks for statistics
	skipped                                         uint64 // since 5.12
}

// mostFuncs bounds what a program's description may hold: the kernel allows 256
// functions.
const mostFuncs = 1024

// Progs visits all loaded programs until f returns false. Programs that go
// away meanwhile are passed over.
func Progs(f func(ProgInfo) bool) error {
	return eachID(cmdProgNextID, ProgByID, func(fd int) (more bool, err error) {
		info, err := describe(fd)
		return err == nil && f(info), err
	})
}

// eachID visits all objects of a kind, by the command that finds the next and
// what opens one. Those that go away meanwhile are passed over.
func eachID(nextCmd int, open func(id uint32) (int, error), visit func(fd int) (more bool, err error)) error {
	var id uint32
	for {
		next := struct{ start, next, flags uint32 }{start: id}
		if _, err := call(nextCmd, unsafe.Pointer(&next), unsafe.Sizeof(next)); err != nil {
			if errors.Is(err, unix.ENOENT) {
				return nil
			}
			return err
		}
		id = next.next
		fd, err := open(id)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return err
		}
		more, err := visit(fd)
		unix.Close(fd)
		if err != nil || !more {
			return err
		}
	}
}

// ProgByID opens a loaded program.
func ProgByID(id uint32) (int, error) {
	attr := struct{ id, next, flags uint32 }{id: id}
	return call(cmdProgByID, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
}

// describe asks the kernel about a program: once for how many functions it has, once more for
// these.
func describe(fd int) (ProgInfo, error) {
	var first progInfo
	if err := objInfo(fd, unsafe.Pointer(&first), unsafe.Sizeof(first)); err != nil {
		return ProgInfo{}, err
	}
	out := ProgInfo{ID: first.id, Type: ProgramType(first.typ),
		Name: unix.ByteSliceToString(first.name[:]), BTF: first.btf}
	n := min(first.funcCount, mostFuncs)
	if n == 0 {
		return out, nil
	}
	records := make([][2]uint32, n)
	second := progInfo{funcs: unsafe.Pointer(&records[0]), funcCount: n, funcRec: FuncInfoBytes}
	if err := objInfo(fd, unsafe.Pointer(&second), unsafe.Sizeof(second)); err != nil {
		return out, err
	}
	for _, r := range records[:min(n, second.funcCount)] {
		out.Funcs = append(out.Funcs, r[1])
	}
	return out, nil
}

// Compiled reports whether the kernel runs a program as machine code; else it
// interprets it.
func Compiled(fd int) bool {
	var info progInfo
	return objInfo(fd, unsafe.Pointer(&info), unsafe.Sizeof(info)) == nil && info.jitedLen > 0
}

func objInfo(fd int, info unsafe.Pointer, size uintptr) error {
	attr := struct {
		fd, size uint32
		info     unsafe.Pointer
	}{uint32(fd), uint32(size), info}
	_, err := call(cmdObjInfo, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
	return err
}

// mostBTF is the size of the largest blob that the kernel takes.
const mostBTF = 16 << 20

// BTFData is the blob of a BTF object.
func BTFData(id uint32) ([]byte, error) {
	fd, err := BTFByID(id)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var info btfInfo
	if err := objInfo(fd, unsafe.Pointer(&info), unsafe.Sizeof(info)); err != nil {
		return nil, err
	}
	if info.size == 0 || info.size > mostBTF {
		return nil, unix.EINVAL
	}
	data := make([]byte, info.size)
	info = btfInfo{data: unsafe.Pointer(&data[0]), size: uint32(len(data))}
	if err := objInfo(fd, unsafe.Pointer(&info), unsafe.Sizeof(info)); err != nil {
		return nil, err
	}
	return data, nil
}
