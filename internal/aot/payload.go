package aot

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/hawktrace/hawk/internal/config"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/types"
)

// A Payload is a script compiled ahead of time.
// Fields are what binding and running ask for. A new one is a new Format.
type Payload struct {
	Arch      string // arch.Arch.Name
	Unsafe    bool   // --unsafe
	NoFeature map[string]bool
	Filter    string // --probe-filter
	Config    *config.Config
	Variants  []*Variant // the one that needs most of the kernel first

	read *codec
}

// A Variant is the script compiled for kernels with certain features.
// Variants are tried in order, from the one that needs most to the one that needs least.
type Variant struct {
	Features []string // by name
	// Pieces: it is compiled in pieces, for a verifier that gave up on the
	// variant in front that has the same features.
	Pieces bool
	Facts  []machine.Fact

	object   object.Object // without programs
	programs []program
}

// NewVariant takes what a compilation has made, and what it took from the
// kernel for that.
func NewVariant(o *object.Object, l *machine.Ledger) (*Variant, error) {
	if err := l.Err(); err != nil {
		return nil, err
	}
	v := &Variant{Facts: l.Facts, object: *o}
	for _, f := range l.Features {
		v.Features = append(v.Features, f.Name)
	}
	v.object.Programs = nil
	for _, p := range o.Programs {
		v.programs = append(v.programs, program{*p, p.Group.Store()})
	}
	return v, nil
}

// Options are the named parameters of the script.
func (p *Payload) Options() []*object.Option { return p.Variants[0].object.Options }

// maxVariants bounds what a payload holds.
const maxVariants = 32

// Encode is the payload as bytes.
// It fails only for types that cannot be written down.
func (p *Payload) Encode() ([]byte, error) {
	c := new(codec)
	c.payload(p)
	return c.b, c.err
}

// Decode reads what Encode has written.
// The bytes may be anybody's: see FuzzPayload.
func Decode(b []byte) (*Payload, error) {
	c := &codec{b: b, reading: true}
	p := new(Payload)
	c.payload(p)
	if c.err == nil && len(c.b) > 0 {
		c.fail("%d bytes are left over", len(c.b))
	}
	if c.err == nil && (len(p.Variants) == 0 || p.Variants[0].Pieces) {
		c.fail("there are no programs")
	}
	if c.err != nil {
		return nil, fmt.Errorf("the compiled script is damaged: %w", c.err)
	}
	p.read = c
	return p, nil
}

// payload is the script and what it was compiled for. Names are sorted, so that the same script is
// the same bytes.
func (c *codec) payload(p *Payload) {
	text(c, &p.Arch)
	c.bool(&p.Unsafe)
	off := slices.Sorted(maps.Keys(p.NoFeature))
	list(c, &off, func(s *string) { text(c, s) })
	p.NoFeature = map[string]bool{}
	for _, name := range off {
		p.NoFeature[name] = true
	}
	text(c, &p.Filter)
	if p.Config == nil {
		p.Config = config.Default()
	}
	c.config(p.Config)
	pointers(c, &p.Variants, c.variant)
	if len(p.Variants) > maxVariants {
		c.fail("%d variants of one script", len(p.Variants))
	}
}

// config is the settings that matter once a script is compiled.
// Settings that only the compiler asks for are left out; a new one that matters is a new
// Format.
func (c *codec) config(s *config.Config) {
	for _, p := range []*string{&s.CacheUserSymbols, &s.EscapeOutput, &s.EventRings, &s.License,
		&s.MissingProbes, &s.OverlappingProbes, &s.StackMode, &s.StrTruncTrailer, &s.StrUnreadable, &s.TargetFilter} {
		text(c, p)
	}
	for _, p := range []*int{&s.LogSize, &s.MaxArgs, &s.MaxBPFProgs, &s.MaxCatBytes, &s.MaxMapKeys, &s.MaxProbes,
		&s.MaxStrlen, &s.OnStackLimit, &s.PerfRBPages} {
		within(c, p, math.MinInt32, math.MaxInt32)
	}
	c.flags(&s.CppDemangle, &s.PrintMapsOnExit, &s.ShowDebugInfo, &s.LazySymbolication)
}

// choose is the first variant, in pieces or not, whose features the kernel has;
// the error says what it lacks otherwise.
func (p *Payload) choose(t *machine.Machine, pieces bool) (*Variant, error) {
	byName := map[string]*machine.Feature{}
	for _, f := range machine.Features() {
		byName[f.Name] = f
	}
	first := errNoPieces
	if !pieces {
		first = nil
	}
	for _, v := range p.Variants {
		if v.Pieces != pieces {
			continue
		}
		var lacks error
		for _, name := range v.Features {
			f := byName[name]
			if f == nil {
				lacks = fmt.Errorf("the feature %q is not known", name)
			} else {
				lacks = t.Has(f)
			}
			if lacks != nil {
				break
			}
		}
		if lacks == nil {
			return v, nil
		}
		first = cmp.Or(first, lacks)
	}
	return nil, first
}

// errNoPieces is why a script cannot be run in pieces.
var errNoPieces = errors.New("the script can not be compiled in pieces")

// fit adapts an object to the number of processors of the machine.
// Scratch memory has slots for each CPU, of which the compiler knew no number.
func fit(o *object.Object, t *machine.Machine) error {
	n := t.PossibleCPUs()
	if types.PowerOfTwo(n) > o.Data.CPUSlots {
		return fmt.Errorf("the program was compiled for machines with fewer processors: at most %d, and there are %d",
			o.Data.CPUSlots, n)
	}
	m := *o.Maps[object.ScratchMap]
	m.MaxEntries = m.MaxEntries / o.Data.CPUSlots * n
	o.Maps = slices.Clone(o.Maps)
	o.Maps[object.ScratchMap] = &m
	return nil
}
