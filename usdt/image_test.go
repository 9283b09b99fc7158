package usdt

import (
	"bytes"
	"debug/elf"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite what the image should be")

// sample is a provider with a mark of every shape: no arguments, all kinds, all
// registers.
func sample(t testing.TB, a *isa) *image {
	p := New("sample")
	NewMark0(p, "nothing")
	NewMark6[int8, uint8, int16, uint16, int32, uint32](p, "narrow")
	NewMark6[bool, float32, float64, string, []byte, uintptr](p, "wide")
	p.Mark("twelve", Int64, Uint64, Int64, Uint64, Int64, Uint64, Int64, Uint64, Int64, Uint64, Int64, Uint64)
	im, err := newImage(a, p.name, p.marks)
	if err != nil {
		t.Fatal(err)
	}
	return im
}

// dump is a file as rows of sixteen bytes, without those that are zero or
// repeat the one before.
func dump(b []byte) string {
	var s strings.Builder
	var last []byte
	for at := 0; at < len(b); at += 16 {
		row := b[at:min(at+16, len(b))]
		if !bytes.Equal(row, last) && len(bytes.Trim(row, "\x00")) > 0 {
			fmt.Fprintf(&s, "%06x %x\n", at, row)
		}
		last = row
	}
	fmt.Fprintf(&s, "%06x\n", len(b))
	return s.String()
}

// The image is an interface: other languages write the same bytes.
func TestGolden(t *testing.T) {
	for _, a := range []*isa{&amd64, &arm64} {
		im := sample(t, a)
		if !bytes.Equal(im.bytes, sample(t, a).bytes) {
			t.Errorf("%s: two images differ", a.name)
		}
		got := im.name() + "\n" + dump(im.bytes)
		path := filepath.Join("testdata", "sample."+a.name)
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: the image has changed: see the difference by -update and git diff\n%s", a.name, got)
		}
	}
}

// strict reads an image as an ELF file and says what is wrong with it.
func strict(im *image, a *isa) error {
	f, err := elf.NewFile(bytes.NewReader(im.bytes))
	if err != nil {
		return err
	}
	if int(f.Machine) != int(a.machine) || f.Type != elf.ET_DYN {
		return fmt.Errorf("a %s for %s", f.Type, f.Machine)
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return err
	}
	if len(symbols) < len(im.places) {
		return fmt.Errorf("%d symbols for %d marks", len(symbols), len(im.places))
	}
	text := f.Section(".text")
	code, err := text.Data()
	if err != nil {
		return err
	}
	for _, s := range symbols {
		if s.Value%16 != 0 || s.Value < text.Addr || s.Value+s.Size > text.Addr+text.Size {
			return fmt.Errorf("symbol %s is at %#x, %d bytes", s.Name, s.Value, s.Size)
		}
	}
	for i, p := range im.places {
		if !bytes.Equal(code[p.code-im.code.offset:][:len(a.function)], a.function) {
			return fmt.Errorf("mark %d has another function", i)
		}
	}
	for i, s := range f.Sections {
		if s.Type == elf.SHT_NULL {
			continue
		}
		if s.Offset+s.Size > uint64(len(im.bytes)) || s.Addralign > 1 && s.Offset%s.Addralign != 0 || s.Addr != 0 &&
			s.Addr != s.Offset {
			return fmt.Errorf("section %d, %s: %+v", i, s.Name, s.SectionHeader)
		}
	}
	var end uint64
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD {
			continue
		}
		if p.Off != p.Vaddr || p.Off%p.Align != 0 || p.Off < end || p.Filesz != p.Memsz {
			return fmt.Errorf("segment %+v", p.ProgHeader)
		}
		end = p.Off + p.Filesz
	}
	return nil
}

func TestStrict(t *testing.T) {
	for _, a := range []*isa{&amd64, &arm64} {
		if err := strict(sample(t, a), a); err != nil {
			t.Errorf("%s: %v", a.name, err)
		}
	}
}

func TestReadelf(t *testing.T) {
	readelf, err := exec.LookPath("readelf")
	if err != nil {
		t.Skip("no readelf")
	}
	for _, a := range []*isa{&amd64, &arm64} {
		im := sample(t, a)
		path := filepath.Join(t.TempDir(), im.name())
		if err := os.WriteFile(path, im.bytes, 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(readelf, "-aW", path).CombinedOutput()
		if err != nil || bytes.Contains(out, []byte("arning")) || bytes.Contains(out, []byte("rror")) {
			t.Errorf("%s: %v\n%s", a.name, err, out)
		}
		for i, name := range []string{"nothing", "narrow", "wide", "twelve"} {
			p := im.places[i]
			want := fmt.Sprintf("    Provider: sample\n    Name: %s\n    Location: 0x%016x, Base: "+
				"0x000000000000017c, Semaphore: 0x%016x\n    Arguments: ",
				name, p.code+a.probed, p.semaphore)
			if !strings.Contains(string(out), want) {
				t.Errorf("%s: %s is not listed as %q in\n%s", a.name, name, want, out)
			}
		}
	}
}

// The entry of a mark with more words than C has registers for them, by its
// bytes: no machine here runs both.
func TestEntry(t *testing.T) {
	const (
		x86 = "f30f1efa554889e5534154415550" + "4c8b5510" + "4c8b5d18" + "4c8b6520" + "4c8b6d28" + "488b4530" +
			"488b5d38" + "e8c5ffffff" + "415d415d415c5b5dc3"
		arm = "5f2403d5fd7bbfa9fd030091" + "a80b40f9" + "a90f40f9" + "aa1340f9" + "ab1740f9" + "f1ffff97" +
			"fd7bc1a8c0035fd6"
	)
	if got := hex.EncodeToString(amd64Entry(12, 16)); got != x86 {
		t.Errorf("amd64:\n%s, want\n%s", got, x86)
	}
	if got := hex.EncodeToString(arm64Entry(12, 32)); got != arm {
		t.Errorf("arm64:\n%s, want\n%s", got, arm)
	}
}

// Any name is refused or makes a valid file.
func FuzzNames(f *testing.F) {
	f.Add("shop", "sold", uint16(0x0123))
	f.Add("a\x00b", "..", uint16(0))
	f.Add("-", "a b", uint16(1))
	f.Add("../x", "x:y", uint16(12))
	f.Fuzz(func(t *testing.T, provider, name string, kinds uint16) {
		var p *Provider
		refused := func() (refused bool) {
			defer func() { refused = recover() != nil }()
			p = New(provider)
			p.Mark(name, make([]Kind, kinds%16)...)
			return false
		}()
		if valid := checkName(provider) == nil && checkName(name) == nil && kinds%16 <= maxWords; refused == valid {
			t.Fatalf("%q:%q with %d arguments: refused is %v", provider, name, kinds%16, refused)
		}
		if refused {
			return
		}
		for _, a := range []*isa{&amd64, &arm64} {
			im, err := newImage(a, provider, p.marks)
			if err == nil {
				err = strict(im, a)
			}
			if err != nil {
				t.Errorf("%s: %v", a.name, err)
			}
			if file := im.name(); filepath.Base(file) != file || file[0] == '.' || file[0] == '-' {
				t.Errorf("the file is called %q", file)
			}
		}
	})
}

// The Python module makes the same bytes.
func TestPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	const program = `
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, "../contrib/python")
import stapsdt
for isa in stapsdt._X86, stapsdt._ARM:
    im = stapsdt._Image(isa, "sample", [("nothing", ()), ("narrow", (-1, 1, -2, 2, -4, 4)), ("wide", (1,) + 6 * (8,)), ("twelve", 6 * (-8, 8))])
    print(im.name, im.bytes.hex())
for wrong in "int", 3, None, [8]:
    try:
        stapsdt.Provider("sample").add_probe("wrong", wrong)
    except ValueError as e:
        print(e)
`
	cmd := exec.Command(python, "-c", program)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, a := range []*isa{&amd64, &arm64} {
		im := sample(t, a)
		fmt.Fprintf(&want, "%s %x\n", im.name(), im.bytes)
	}
	want.WriteString(strings.Repeat("wrong: arguments are at most 12 of ArgTypes\n", 4))
	if string(out) != want.String() {
		t.Errorf("Python makes\n%s", out)
	}
}
