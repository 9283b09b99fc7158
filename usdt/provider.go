package usdt

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"
)

// A Provider is a group of marks that are loaded together. Its methods may be
// called by several goroutines.
type Provider struct {
	name string

	mu     sync.Mutex
	marks  []*mark
	state  state
	image  *image
	memory mapping // while loaded
}

// state is how far a provider has come. It never goes back.
type state int

const (
	declared state = iota
	failed
	loaded
	closed
)

// LoadOptions says where Load puts the file. The zero value is the order that
// the package's documentation has.
type LoadOptions struct {
	Dir    string // a directory to be tried first; "": none
	Memory bool   // no file in a directory, only one in memory
}

// New makes a provider without marks. Tracers do not see it before Load. It panics if the name is
// none: letters, digits, "_", "-" and ".", at most 100, of which the first is a letter or "_".
func New(name string) *Provider {
	if err := checkName(name); err != nil {
		panic("usdt: provider " + err.Error())
	}
	return &Provider{name: name}
}

const maxName = 100

// checkName keeps names to what tracers take as part of a probe's name. File systems have
// to take it, too.
func checkName(name string) error {
	for i := range len(name) {
		c := name[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789-.", rune(c))) {
			return fmt.Errorf("%q: a name is letters, digits, _, - and ., and begins with a letter or _", name)
		}
	}
	if name == "" || len(name) > maxName {
		return fmt.Errorf("%q: a name has 1 to %d characters", name, maxName)
	}
	return nil
}

// add declares a mark. It panics where the program is wrong, as package flag
// does.
func (p *Provider) add(m *mark, name string, kinds []Kind) {
	if err := checkName(name); err != nil {
		panic("usdt: mark " + err.Error())
	}
	if p == nil || p.name == "" {
		panic("usdt: mark " + name + " needs a provider that New has made")
	}
	if len(kinds) > maxWords {
		panic(fmt.Sprintf("usdt: mark %s:%s has arguments of %d words, %d are possible", p.name, name,
			len(kinds), maxWords))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != declared {
		panic(fmt.Sprintf("usdt: mark %s:%s comes after Load: it needs a second provider", p.name, name))
	}
	if slices.ContainsFunc(p.marks, func(m *mark) bool { return m.name == name }) {
		panic(fmt.Sprintf("usdt: mark %s:%s is declared twice", p.name, name))
	}
	m.name, m.kinds = name, kinds
	p.marks = append(p.marks, m)
}

// Load makes the marks visible to tracers. It can be called once. Where it fails, the marks never fire and nothing else
// changes; that this system cannot have marks is errors.ErrUnsupported.
func (p *Provider) Load(o *LoadOptions) error {
	if o == nil {
		o = &LoadOptions{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.name == "":
		return errors.New("usdt: the Provider is none that New has made")
	case p.state != declared:
		return fmt.Errorf("usdt: provider %s has been loaded before", p.name)
	case len(p.marks) == 0:
		return fmt.Errorf("usdt: provider %s has no marks", p.name)
	case native == nil:
		return fmt.Errorf("usdt: provider %s: %w", p.name, errors.ErrUnsupported)
	}
	im, err := newImage(native, p.name, p.marks)
	if err != nil {
		return fmt.Errorf("usdt: %w", err)
	}
	p.state = failed
	if err := p.memory.load(im, o); err != nil {
		return fmt.Errorf("usdt: provider %s: %w", p.name, err)
	}
	p.image, p.state = im, loaded
	for i, m := range p.marks {
		m.load(p.memory.base+uintptr(im.places[i].code), p.memory.at(im.places[i].semaphore))
	}
	registry.Lock()
	registry.loaded = append(registry.loaded, p)
	registry.Unlock()
	return nil
}

// Close takes the marks away from tracers. It may be called while other
// goroutines fire them; afterwards they never fire. The memory of the marks, a few pages, is not given back.
func (p *Provider) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != loaded {
		p.state = closed
		return nil
	}
	if err := p.memory.leave(p.image); err != nil {
		return fmt.Errorf("usdt: provider %s: %w", p.name, err)
	}
	p.state = closed
	registry.Lock()
	registry.loaded = slices.DeleteFunc(registry.loaded, func(q *Provider) bool { return q == p })
	registry.Unlock()
	return nil
}

// Path is the file with the marks as tracers can open it. It is "" unless the provider is
// loaded. A file in memory is /proc/PID/fd/N.
func (p *Provider) Path() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != loaded {
		return ""
	}
	return p.memory.path
}

// registry has the providers that are loaded, and when which directory was tidied.
var registry struct {
	sync.Mutex
	loaded []*Provider
	tidied map[string]time.Time
}

// Info describes a mark that is loaded.
type Info struct {
	Provider, Name string
	Args           string // as the note has them: size and place, "-4@%rdi 8@%rsi"
	Path           string // of the file, see Provider.Path
	Enabled        bool   // a tracer is attached
}

// Marks lists the marks of this process that are loaded, in the order of declaration.
func Marks() iter.Seq[Info] {
	return func(yield func(Info) bool) {
		registry.Lock()
		loaded := slices.Clone(registry.loaded)
		registry.Unlock()
		for _, p := range loaded {
			path := p.Path()
			if path == "" {
				continue
			}
			for _, m := range p.marks {
				if !yield(Info{p.name, m.name, native.operands(m.kinds), path, m.enabled()}) {
					return
				}
			}
		}
	}
}

// at is the memory at an offset of the mapped file.
func (m *mapping) at(offset int) unsafe.Pointer {
	// The address is not Go's: it was given by the kernel and stays.
	return unsafe.Add(*(*unsafe.Pointer)(unsafe.Pointer(&m.base)), offset)
}
