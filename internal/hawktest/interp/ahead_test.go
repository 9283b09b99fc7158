package interp_test

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/hawktrace/hawk/internal/aot"
	"github.com/hawktrace/hawk/internal/arch"
	"github.com/hawktrace/hawk/internal/compile"
	"github.com/hawktrace/hawk/internal/hawktest/scriptgen"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/session"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/types"
)

// An emulated processor takes many times longer than this one to compile and to interpret a
// script, which do not need the kernel. So a machine of another kernel compares scripts that this
// one has compiled for it:
//
//	HAWK_FUZZ_AHEAD_FOR=DIR   a recording (hawk --record-machine) of the machine to compile for
//	HAWK_FUZZ_AHEAD=FILE      what to write for it, or, without a recording, what to compare here
const (
	aheadFor  = "HAWK_FUZZ_AHEAD_FOR"
	aheadFile = "HAWK_FUZZ_AHEAD"
)

// prepared is a script that was compiled elsewhere, or what became of the attempt.
type prepared struct {
	Seed    uint64
	Verdict verdict // agree: it is still to be compared
	Text    string
	Payload []byte // an aot.Payload
	Want    string // the interpreter's output
}

// processors is for how many processors the script of a seed is compiled: what the recorded machine has room for, as
// hawk does there. One of 16 is for 32 and one for 256, as are programs for others. They read aggregations in loops,
// and write to several ring buffers. Where there is no loop budget the verifier goes through all rounds of each loop,
// on each way that leads there, so that fewer of those are for many.
func processors(seed uint64, recorded *machine.Machine) int {
	turn := seed / uint64(len(older)) // the features go by the remainder
	often := uint64(16)
	if slices.Contains(without(seed), machine.MayGoto) {
		often = 256
	}
	switch room := types.PowerOfTwo(recorded.PossibleCPUs()); turn % often {
	case 5:
		return max(room, 32)
	case 10:
		return machine.PortableCPUs
	default:
		return room
	}
}

// prepare compiles and interprets the script for a recorded machine.
func prepare(seed uint64, recorded *machine.Machine) (p prepared) {
	p.Seed = seed
	fail := func(v verdict, text string) prepared { return prepared{Seed: seed, Verdict: v, Text: text} }
	target, ledger := recorded.ForOthers(arch.Native(), "")
	ledger.CPUs = processors(seed, recorded)
	o := probe.Options{Machine: target, NoFeature: map[string]bool{}}
	for _, f := range without(seed) {
		o.NoFeature[f.Name] = true
	}
	script := settings(seed) + scriptgen.Generate(seed, lacks(recorded)).String()
	res, v, text := compiled(script, compile.Options{Probe: o, Verify: true, Trace: true, Pieces: inPieces(seed)})
	if res == nil {
		return fail(v, text)
	}
	want, v, text := interpreted(res)
	if v != agree {
		return fail(v, text)
	}
	// The verifier's first try is what is in pieces here, and so the variant is not marked as that.
	variant, err := aot.NewVariant(res.Object, ledger)
	if err != nil {
		return fail(differ, err.Error())
	}
	payload := &aot.Payload{Arch: arch.Native().Name, NoFeature: o.NoFeature, Config: res.Config,
		Variants: []*aot.Variant{variant}}
	if p.Payload, err = payload.Encode(); err != nil {
		return fail(differ, err.Error())
	}
	p.Want = want
	return p
}

// judge runs the script on this machine. A script that the verifier gives up on is compiled
// here, in pieces, as hawk does.
func (p prepared) judge() (v verdict, text string, gaveUp bool) {
	if p.Verdict != agree {
		return p.Verdict, p.Text, false
	}
	payload, err := aot.Decode(p.Payload)
	if err != nil {
		return differ, err.Error(), false
	}
	o := probe.Options{Machine: host()}
	program, ds := session.Bind(payload, &o)
	if ds.HasErrors() {
		var messages bytes.Buffer
		ds.Print(&messages, source.PrintOptions{NoWarnings: true})
		return differ, messages.String(), false
	}
	v, text, gaveUp = judgeOutput(program, &o, p.Want)
	if gaveUp && !inPieces(p.Seed) {
		m := madeUp(p.Seed)
		v, text, _ = judgeOnce(settings(m.seed)+m.root.String(), true, without(m.seed))
	}
	return v, text, gaveUp
}

// TestPrepare writes the scripts of a row of seeds for the machine of a recording.
func TestPrepare(t *testing.T) {
	dir, path := os.Getenv(aheadFor), os.Getenv(aheadFile)
	if dir == "" || path == "" {
		t.Skipf("no recording in %s or no file in %s", aheadFor, aheadFile)
	}
	recorded := machine.Recorded(dir)
	if err := recorded.CheckRecording(); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	small, err := flate.NewWriter(file, flate.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	out := gob.NewEncoder(small)

	c := newCampaign(t)
	var mu sync.Mutex
	c.each(func(seed uint64) bool {
		p := prepare(seed, recorded)
		c.note(seed, p.Verdict, p.Text, false)
		if p.Verdict == differ {
			t.Errorf("seed %d: %s", seed, p.Text)
		}
		mu.Lock()
		defer mu.Unlock()
		if err := out.Encode(p); err != nil {
			t.Error(err)
			return false
		}
		return true
	})
	t.Log(c)
	if err := errors.Join(small.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
}

// readPrepared returns a function that reads the next of the scripts that another machine has
// written, from several goroutines.
func readPrepared(path string) (next func() (p prepared, ok bool), err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	in := gob.NewDecoder(bufio.NewReader(flate.NewReader(bufio.NewReader(file))))
	var mu sync.Mutex
	return func() (p prepared, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		switch err := in.Decode(&p); {
		case errors.Is(err, io.EOF):
			file.Close()
			return p, false
		case err != nil:
			panic(fmt.Sprintf("%s: %v", path, err))
		}
		return p, true
	}, nil
}

// comparePrepared compares the scripts that another machine has compiled.
func (c *campaign) comparePrepared(path string) {
	next, err := readPrepared(path)
	if err != nil {
		c.t.Fatal(err)
	}
	c.each(func(uint64) bool {
		p, ok := next()
		if ok {
			v, text, gaveUp := p.judge()
			c.conclude(p.Seed, v, text, gaveUp)
		}
		return ok
	})
}
