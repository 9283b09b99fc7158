package exe

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/hawktest/bound"
)

// onDisk is a file that is too large to be copied as a whole.
func onDisk(t *testing.T, sections ...elfSection) (*File, string) {
	t.Helper()
	sample := sampleFile(binary.LittleEndian, true)
	sample.sections = append(sample.sections, sections...)
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, sample.bytes(), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, path
}

// A file that is cut short, after however much of it was read, is zeros from
// there on; what was read stays.
func TestCutShort(t *testing.T) {
	text := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	for _, cut := range []int64{0, 1, 4096, 4097, 100_000, 900_000} {
		f, path := onDisk(t, elfSection{name: ".text.long", typ: elf.SHT_PROGBITS, data: text})
		s := f.sectionNamed(".text.long")
		known := f.slice(s.offset, 8192)
		if err := os.Truncate(path, cut); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(known, text[:8192]) {
			t.Errorf("cut at %d: what was read is gone", cut)
		}
		all := f.Section(".text.long")
		if len(all) != len(text) {
			t.Fatalf("cut at %d: %d bytes", cut, len(all))
		}
		for i, c := range all[8192:] {
			if c != 0 && c != text[8192+i] {
				t.Fatalf("cut at %d: byte %d is %#x", cut, 8192+i, c)
			}
		}
		readSymbols(f)
	}
}

func readSymbols(f *File) {
	for range f.Symbols() {
	}
	f.USDT()
	f.BuildID()
	f.DebugFile("")
}

// A cursor that has bytes come as it passes by reads what is in the file.
func TestCursorOverFile(t *testing.T) {
	text := make([]byte, 1<<20)
	for i := range text {
		text[i] = byte(i*7 + i>>8)
	}
	f, _ := onDisk(t, elfSection{name: ".debug_info", typ: elf.SHT_PROGBITS, data: text})
	for _, begin := range []int{0, 4095, 4096, 70_000} {
		b, err := f.DebugSection(".debug_info")
		if err != nil || b.Len() != len(text) {
			t.Fatalf("%d bytes, %v", b.Len(), err)
		}
		c := b.Cursor(begin, len(text), false)
		want := BytesOf(text).Cursor(begin, len(text), false)
		for n := 0; want.More(); n++ {
			step := uint64(n * 13 % 9000)
			if !bytes.Equal(c.Bytes(step), want.Bytes(step)) || c.Byte() != want.Byte() ||
				c.ULEB() != want.ULEB() || !bytes.Equal(c.Text(), want.Text()) || c.At != want.At {
				t.Fatalf("at %d of %d", want.At, len(text))
			}
		}
	}
	if kept := f.Memory(); kept > int64(len(text))+1<<17 {
		t.Errorf("%d bytes are kept", kept)
	}
}

// compressed is a section as linkers compress them.
func compressed(method elf.CompressionType, size int, packed []byte) elfSection {
	head := make([]byte, 24, 24+len(packed))
	binary.LittleEndian.PutUint32(head, uint32(method))
	binary.LittleEndian.PutUint64(head[8:], uint64(size))
	return elfSection{name: ".debug_info", typ: elf.SHT_PROGBITS, flags: elf.SHF_COMPRESSED,
		data: append(head, packed...)}
}

// Compressed sections are unfolded if they are no larger than what compilers make
// can be.
func TestUnfold(t *testing.T) {
	deflate := func(b []byte) []byte {
		var out bytes.Buffer
		w := zlib.NewWriter(&out)
		w.Write(b)
		w.Close()
		return out.Bytes()
	}
	text := []byte(strings.Repeat("debug information ", 10000))
	burst := make([]byte, 256<<20)
	methods := map[elf.CompressionType]func([]byte) []byte{elf.COMPRESS_ZLIB: deflate}
	if _, err := exec.LookPath("zstd"); err == nil {
		methods[elf.COMPRESS_ZSTD] = func(b []byte) []byte {
			cmd := exec.Command("zstd", "-q", "-c")
			cmd.Stdin = bytes.NewReader(b)
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
	}
	for method, pack := range methods {
		f, _ := onDisk(t, compressed(method, len(text), pack(text)))
		if b, err := f.DebugSection(".debug_info"); err != nil || !bytes.Equal(b.All(), text) {
			t.Errorf("%v: %d bytes of %d, %v", method, b.Len(), len(text), err)
		}
		packed := pack(burst)
		for _, size := range []int{len(burst), 1 << 20} {
			f, _ := onDisk(t, compressed(method, size, packed))
			bound.Run(t, len(packed), func() {
				if b, err := f.DebugSection(".debug_info"); size == len(burst) &&
					(err == nil || !strings.Contains(err.Error(), "unfolds to")) {
					t.Errorf("%v: %d bytes, %v", method, b.Len(), err)
				}
			})
		}
	}
}
