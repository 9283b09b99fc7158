//go:build linux && (amd64 || arm64)

package usdt

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"
)

// load loads a provider in a directory of the test's own and closes it with the
// test.
func load(t testing.TB, p *Provider) {
	t.Helper()
	if err := p.Load(&LoadOptions{Dir: privateDir(t)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
}

// raise counts a tracer, as the kernel does.
func raise(m *mark) { *m.semaphore()++ }

func TestMisuse(t *testing.T) {
	p := New("misuse")
	NewMark0(p, "once")
	panics := func(what, want string, f func()) {
		t.Helper()
		defer func() {
			t.Helper()
			if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
				t.Errorf("%s: panic is %q", what, got)
			}
		}()
		f()
	}
	panics("a provider without a name", "1 to 100 characters", func() { New("") })
	panics("a provider that is a path", "letters, digits", func() { New("a/b") })
	panics("a mark without a name", "1 to 100 characters", func() { NewMark0(p, "") })
	panics("a mark with a colon", "letters, digits", func() { NewMark0(p, "a:b") })
	panics("a mark that is there", "misuse:once is declared twice", func() { p.Mark("once") })
	panics("thirteen words", "12 are possible", func() { p.Mark("many", make([]Kind, 13)...) })
	panics("no kind", "no kind", func() { p.Mark("kind", Uint64+1) })
	load(t, p)
	panics("a mark too late", "after Load", func() { NewMark0(p, "late") })
	if err := p.Load(nil); err == nil || !strings.Contains(err.Error(), "loaded before") {
		t.Errorf("loading twice: %v", err)
	}
	if err := New("empty").Load(nil); err == nil {
		t.Error("a provider without marks is loaded")
	}
}

func TestOff(t *testing.T) {
	p := New("off")
	m := NewMark2[string, []byte](p, "off")
	if m.Enabled() {
		t.Error("a mark is enabled that is not loaded")
	}
	m.Fire("nobody", nil)
	load(t, p)
	if m.Enabled() {
		t.Error("a mark is enabled that nobody traces")
	}
	n := byte(runtime.NumCPU())
	if allocs := testing.AllocsPerRun(100, func() { m.Fire("nobody", []byte{1, n, 3}) }); allocs != 0 {
		t.Errorf("a mark that nobody traces allocates %v times", allocs)
	}
}

func TestMarks(t *testing.T) {
	p := New("listed")
	a := NewMark1[int32](p, "a")
	NewMark0(p, "b")
	list := func() (infos []Info) {
		for i := range Marks() {
			if i.Provider == "listed" {
				infos = append(infos, i)
			}
		}
		return infos
	}
	if got := list(); got != nil {
		t.Errorf("before Load: %v", got)
	}
	load(t, p)
	raise(&a.mark)
	want := []Info{{"listed", "a", "-4@" + native.registers[0], p.Path(), true}, {"listed", "b", "", p.Path(), false}}
	if got := list(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if got := list(); got != nil || p.Path() != "" {
		t.Errorf("after Close: %v, %q", got, p.Path())
	}
}

// TestWords follows arguments as far as the registers.
func TestWords(t *testing.T) {
	type article string
	var c call
	add := func(f form, v unsafe.Pointer) { c.add(f, v) }
	i8, u16, f64, f32, b := int8(-1), uint16(65535), 1.5, float32(-2), []byte("bytes")
	text, empty := article("text\x00more"), ""
	add(int8Form, unsafe.Pointer(&i8))
	add(uint16Form, unsafe.Pointer(&u16))
	add(wordForm, unsafe.Pointer(&f64))
	add(uint32Form, unsafe.Pointer(&f32))
	add(stringForm, unsafe.Pointer(&text))
	add(bytesForm, unsafe.Pointer(&b))
	add(stringForm, unsafe.Pointer(&empty))
	if c.n != 8 {
		t.Errorf("%d words", c.n)
	}
	want := [maxWords]uint64{^uint64(0), 65535, 0x3ff8000000000000, 0xc0000000, 0, 0, 5, 0}
	if c.words != want {
		t.Errorf("words are %x, want %x", c.words, want)
	}
	if got := unsafe.String((*byte)(c.addresses[4]), 10); got != "text\x00more\x00" {
		t.Errorf("the text is %q", got)
	}
	if c.addresses[5] != unsafe.Pointer(&b[0]) || *(*byte)(c.addresses[7]) != 0 {
		t.Error("addresses are wrong")
	}
	if f, kinds := formOf[article](); f != stringForm || !slices.Equal(kinds, []Kind{Uint64}) {
		t.Errorf("a type made of string is %d, %v", f, kinds)
	}
}

// busy fires marks of every kind from several goroutines until done, and
// collects garbage meanwhile.
func busy(t *testing.T, p *Provider, during func()) {
	zero := NewMark0(p, "zero")
	two := NewMark2[int, string](p, "two")
	six := NewMark6[int8, string, []byte, float64, bool, string](p, "six")
	twelve := p.Mark("twelve", make([]Kind, 12)...)
	load(t, p)
	for _, m := range p.marks {
		raise(m)
	}
	var stop atomic.Bool
	var all sync.WaitGroup
	for i := range 3 {
		all.Go(func() {
			for n := 0; !stop.Load(); n++ {
				deep(n%64, func() {
					zero.Fire()
					two.Fire(n, fmt.Sprint("text ", n))
					six.Fire(int8(n), "a", []byte{1, 2, byte(n)}, float64(i), true, strings.Repeat("b", n%4096))
					twelve.Fire(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, uint64(n))
				})
			}
		})
	}
	all.Go(func() {
		for !stop.Load() {
			runtime.GC()
		}
	})
	during()
	stop.Store(true)
	all.Wait()
}

// deep calls f with a stack that has to grow.
//
//go:noinline
func deep(n int, f func()) byte {
	var frame [512]byte
	frame[n] = byte(n)
	if n > 0 {
		return frame[n] + deep(n-1, f)
	}
	f()
	return frame[0]
}

func TestProfile(t *testing.T) {
	var profile bytes.Buffer
	if err := pprof.StartCPUProfile(&profile); err != nil {
		t.Skip(err)
	}
	busy(t, New("profile"), func() {
		for range 50 {
			runtime.GC()
		}
	})
	pprof.StopCPUProfile()
	z, err := gzip.NewReader(&profile)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(z); err != nil || !bytes.Contains(text, []byte("usdt.busy")) {
		t.Errorf("the profile does not have the functions that fire: %v", err)
	}
}

func TestCloseUnderLoad(t *testing.T) {
	for i := range 20 {
		p := New(fmt.Sprintf("closing%d", i))
		busy(t, p, func() {
			runtime.GC()
			file := p.Path()
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			if maps, err := os.ReadFile("/proc/self/maps"); err != nil || bytes.Contains(maps, []byte(file)) {
				t.Errorf("%s is still mapped: %v", file, err)
			}
			runtime.GC()
		})
		for _, m := range p.marks {
			if m.enabled() {
				t.Errorf("%s is enabled after Close", m.name)
			}
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestMemory(t *testing.T) {
	p := New("memory")
	m := NewMark1[string](p, "m")
	if err := p.Load(&LoadOptions{Memory: true}); err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	content, err := os.ReadFile(p.Path())
	if err != nil || !bytes.Equal(content, p.image.bytes) {
		t.Errorf("%s has not the image: %v", p.Path(), err)
	}
	if name, err := os.Readlink(p.Path()); err != nil || name != "/memfd:usdt:memory (deleted)" {
		t.Errorf("the file is %q, %v", name, err)
	}
	raise(&m.mark)
	m.Fire("in memory")
}

// Closing what was never loaded keeps it from being loaded.
func TestCloseFirst(t *testing.T) {
	p := New("never")
	NewMark0(p, "m")
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := p.Load(nil); err == nil || errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Load after Close: %v", err)
	}
}

var sink atomic.Uint64

func BenchmarkOffGeneric(b *testing.B) {
	p := New("bench")
	m := NewMark2[string, int64](p, "m")
	load(b, p)
	for i := range b.N {
		m.Fire("text", int64(i))
	}
}

func BenchmarkOffPlain(b *testing.B) {
	p := New("bench")
	m := p.Mark("m", Int64, Uint64)
	load(b, p)
	for i := range b.N {
		m.Fire(uint64(i), 2)
	}
}

func BenchmarkLoop(b *testing.B) {
	for i := range b.N {
		sink.Load()
		_ = i
	}
}

func BenchmarkOn(b *testing.B) {
	p := New("bench")
	m0, m2, m6, text := NewMark0(p, "m0"), NewMark2[int, int](p, "m2"), NewMark6[int, int, int, int, int, int](p,
		"m6"), NewMark1[string](p, "text")
	m12 := p.Mark("m12", make([]Kind, 12)...)
	load(b, p)
	for _, m := range p.marks {
		raise(m)
	}
	for _, v := range []struct {
		name string
		fire func(i int)
	}{
		{"0", func(int) { m0.Fire() }},
		{"2", func(i int) { m2.Fire(i, i) }},
		{"6", func(i int) { m6.Fire(i, i, i, i, i, i) }},
		{"12", func(i int) { m12.Fire(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12) }},
		{"string", func(int) { text.Fire("a string of thirty-two characters") }},
	} {
		b.Run(v.name, func(b *testing.B) {
			for i := range b.N {
				v.fire(i)
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	dir := privateDir(b)
	for b.Loop() {
		p := New("load")
		NewMark2[string, int64](p, "m")
		if err := p.Load(&LoadOptions{Dir: dir}); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		p.Close()
		b.StartTimer()
	}
}
