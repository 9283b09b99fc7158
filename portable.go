package hawk

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/hawktrace/hawk/internal/aot"
	"github.com/hawktrace/hawk/internal/arch"
	"github.com/hawktrace/hawk/internal/compile"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/session"
	"github.com/hawktrace/hawk/internal/source"
)

// ahead compiles a script for other kernels, too. The payload is nil if it is wrong.
func ahead(s *Script, o compile.Options, on *arch.Arch, report func(Diagnostics)) ([]byte, error) {
	a := session.Ahead{File: s.file(), Options: o, Arch: on}
	a.Report = func(ds *source.Diagnostics) { report(diagnostics(ds)) }
	a.Given = func(obj *object.Object) error {
		values, err := optionValues(obj.Options, s.Options)
		for _, opt := range obj.Options {
			if v, ok := values[opt.Name]; ok {
				obj.Data.Set(opt, v)
			}
		}
		return err
	}
	p, err := a.Compile()
	if p == nil || err != nil {
		return nil, err
	}
	return p.Encode()
}

// WriteTo writes a program that was compiled to be portable, as [Load] reads it.
func (p *Program) WriteTo(w io.Writer) (int64, error) {
	if p.payload == nil {
		return 0, errors.New("hawk: only a program that was compiled with Portable can be written")
	}
	n, err := w.Write(aot.Seal(version(), p.payload))
	return int64(n), err
}

// Sign is a signature of the program as WriteTo writes it.
func (p *Program) Sign(key ed25519.PrivateKey) ([]byte, error) {
	if len(key) != ed25519.PrivateKeySize {
		return nil, fmt.Errorf("hawk: a private key has %d bytes, not %d", ed25519.PrivateKeySize, len(key))
	}
	var b bytes.Buffer
	if _, err := p.WriteTo(&b); err != nil {
		return nil, err
	}
	_, _, digest, err := aot.Open(&b)
	if err != nil {
		return nil, err
	}
	return ed25519.Sign(key, digest[:]), nil
}

// Load reads a program that WriteTo has written, on this machine or on another one. It
// runs on this machine's kernel or says what that lacks ([*BindError]). The bytes may be
// anybody's: what is no program is [ErrDamaged].
func Load(r io.Reader) (*Program, error) { return read(r, func([]byte) bool { return true }) }

// LoadSigned is Load of a program that one of the keys has signed. Else the error is
// [ErrSignature], and nothing of the program was looked at.
func LoadSigned(r io.Reader, signature []byte, keys ...ed25519.PublicKey) (*Program, error) {
	return read(r, func(digest []byte) bool {
		for _, key := range keys {
			if len(key) == ed25519.PublicKeySize && ed25519.Verify(key, digest, signature) {
				return true
			}
		}
		return false
	})
}

func read(r io.Reader, trusted func(digest []byte) bool) (*Program, error) {
	if r == nil {
		return nil, errors.New("hawk: the Reader is nil")
	}
	payload, _, digest, err := aot.Open(r)
	if other := (*aot.OtherFormat)(nil); errors.As(err, &other) {
		have := strconv.FormatUint(uint64(other.Have), 10)
		return nil, &BindError{"format", have, strconv.Itoa(aot.Format), fmt.Errorf("hawk: %w", err)}
	} else if errors.Is(err, aot.ErrDamaged) {
		return nil, fmt.Errorf("%w%s", ErrDamaged, strings.TrimPrefix(err.Error(), aot.ErrDamaged.Error()))
	} else if err != nil {
		return nil, fmt.Errorf("hawk: %w", err)
	}
	if !trusted(digest[:]) {
		return nil, ErrSignature
	}
	decoded, err := aot.Decode(payload)
	if err != nil { // its digest is right: whoever made it did not mean it to be read
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if err := ofThisArch(decoded); err != nil {
		return nil, err
	}
	m := Host()
	p := &Program{payload: payload, machine: m, probe: probe.Options{Machine: m.m}}
	p.res = &compile.Result{Object: decoded.Layout(), Config: decoded.Config}
	p.groups = decoded.Groups()
	return p, nil
}

func ofThisArch(p *aot.Payload) error {
	here := arch.Native().Name
	if p.Arch == here {
		return nil
	}
	err := fmt.Errorf("hawk: the program was compiled for %s, and this is %s", p.Arch, here)
	return &BindError{"architecture", p.Arch, here, err}
}

// bound makes the program of a payload for the machine. The payload is decoded each
// time, since a binding changes it.
func (p *Program) bound() (*session.Program, error) {
	decoded, err := aot.Decode(p.payload)
	if err != nil {
		return nil, err
	}
	if err := ofThisArch(decoded); err != nil {
		return nil, err
	}
	o := p.probe
	p.machine.m.Resolve.Lock()
	defer p.machine.m.Resolve.Unlock()
	prog, ds := session.Bind(decoded, &o)
	if prog != nil {
		return prog, nil
	}
	all := diagnostics(ds)
	switch {
	case errors.Is(all, ErrBind):
		return nil, &BindError{Fact: all[0].Message, err: all}
	case errors.Is(all, fs.ErrNotExist): // it was there where the program was compiled
		missing := slices.IndexFunc(all, func(d Diagnostic) bool { return Diagnostics{d}.Is(fs.ErrNotExist) })
		return nil, &AttachError{all[missing].drawn.Span.Text(), all}
	}
	return nil, all
}

// version is that of this package in the program that it is a part of.
func version() string {
	const module = "github.com/hawktrace/hawk"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	if info.Main.Path == module {
		return info.Main.Version
	}
	for _, dep := range info.Deps {
		if dep.Path == module {
			return dep.Version
		}
	}
	return ""
}
