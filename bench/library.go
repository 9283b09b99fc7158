package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/hawktrace/hawk/usdt"
)

const libraryNote = "What programs pay for the packages `hawk` and `usdt`: hello world that compiles, starts and " +
	"decodes, beside one that only prints, both stripped; a mark that nobody traces, the fastest series of " +
	"10,000,000 calls less those of a function that does nothing."

// guests are programs with the library in them and without.
var guests = map[string]string{
	// This one uses each part that a program would: compiling, starting and decoding. The linker
	// leaves out what nobody calls, so that less would show too small a size.
	"with": `package main

import (
	"context"
	"fmt"

	"github.com/hawktrace/hawk"
)

func main() {
	ctx := context.Background()
	p, err := hawk.Compile(ctx, &hawk.Script{Text: "begin { print((text=\"hello, world\")); exit(); }"}, nil)
	if err != nil {
		panic(err)
	}
	s, err := p.Start(ctx, nil)
	if err != nil {
		panic(err)
	}
	defer s.Close()
	for r, err := range hawk.Decoded[struct{ Text string }](s, nil) {
		fmt.Println(r.Text, err)
	}
}
`,
	"without": "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"hello, world\") }\n",
}

// library measures what programs pay for the packages hawk and usdt.
func library(b *bench) ([]row, error) {
	dir, err := os.MkdirTemp("bench", "guest") // in the module, whose library is meant
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	size := map[string]float64{}
	for name, text := range guests {
		file, out := filepath.Join(dir, name+".go"), filepath.Join(b.dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return nil, err
		}
		cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", out, file)
		// With cgo the C library would be linked or not by what the machine has, and the sizes
		// not compare.
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if said, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%w\n%s", err, said)
		}
		info, err := os.Stat(out)
		if err != nil {
			return nil, err
		}
		size[name] = float64(info.Size()) / 1e6
	}
	rows := []row{{"a program that has the library, larger by", "MB", []float64{size["with"] - size["without"]}}}
	p := usdt.New("bench")
	typed, words := usdt.NewMark2[string, int64](p, "typed"), p.Mark("words", usdt.Int64, usdt.Uint64)
	if err := p.Load(&usdt.LoadOptions{Dir: b.dir}); err != nil {
		return nil, err
	}
	defer p.Close()
	// The call through a function value costs as much as a mark that is off: it is taken away.
	empty := quickest(b.rounds, func(int) {})
	for _, m := range []struct {
		name string
		fire func(int)
	}{
		{"mark of a text and a number, not traced", func(i int) { typed.Fire("text", int64(i)) }},
		{"mark of two words, not traced", func(i int) { words.Fire(uint64(i), 2) }},
	} {
		rows = append(rows, row{m.name, "ns", []float64{max(0, quickest(b.rounds, m.fire)-empty)}})
	}
	return rows, nil
}

// quickest is the nanoseconds of one call in the fastest of several series. The least counts,
// for the reason that fastest gives. It has more calls in a series, as a mark that is off is a
// few instructions.
func quickest(rounds int, call func(int)) float64 {
	const calls = 10_000_000
	var best time.Duration
	for i := range max(rounds, 1) {
		began := time.Now()
		for n := range calls {
			call(n)
		}
		if took := time.Since(began); i == 0 || took < best {
			best = took
		}
	}
	return float64(best.Nanoseconds()) / calls
}
