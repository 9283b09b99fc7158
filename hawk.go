package hawk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/hawktrace/hawk/internal/aot"
	"github.com/hawktrace/hawk/internal/compile"
	"github.com/hawktrace/hawk/internal/config"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/policy"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/session"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/spell"
)

// A Script is text in the language of hawk and what it is given.
type Script struct {
	Name    string            // for messages; "" is "script"
	Text    string            //
	Args    []string          // $1, $2 …
	Options map[string]string // named options, --name=value of the command
	FS      fs.FS             // imports and headers; nil: none may be read
}

// ReadScript reads a script from a file. Imports are read from its directory.
func ReadScript(path string, args ...string) (*Script, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, named(err)
	}
	return &Script{Name: path, Text: string(text), Args: args, FS: os.DirFS(filepath.Dir(path))}, nil
}

func (s *Script) file() *source.File {
	f := source.NewFile(cmp.Or(s.Name, "script"), s.Text)
	f.Path = filepath.Base(f.Name) // in FS
	return f
}

// CompileOptions say what a script is compiled for.
type CompileOptions struct {
	Machine *Machine          // nil: Host()
	Config  map[string]string // settings as in config = { }; the script's own win
	PID     int               // trace this process only; 0: all
	Cgroups []string          // directories of control groups: these and what is below them; none: all
	Unsafe  bool              // system(), signal(), override() …: the option --unsafe of messages
	Policy  *Policy           // nil: anything that Unsafe allows
	// Portable: for other kernels too, as WriteTo writes it; not with PID or Cgroups.
	Portable bool
	// Take: maps can be taken. Each use of a map costs a look-up more, maps need twice the
	// memory, and programs do not wait for pages of user memory: str() then reads none.
	Take bool
}

// A Policy says what a script may do. A breach is a [Diagnostic] with the code "policy"; one
// with the code "bad-policy" is about the policy itself: a name that is no name. MaxMapBytes and
// UserMemory are judged by what was generated: by Compile, not by Check.
type Policy struct {
	Kinds                  []string // probe kinds that may be used; nil: all
	Deny                   []string // functions: "system", "cat", "str" …
	MaxProbes, MaxMapBytes int      // 0: the defaults of the language
	UserMemory             bool     // may read memory of processes
}

// A Program is a compiled script. It does not change, and may be started many
// times, at once too.
type Program struct {
	prog     *session.Program // nil if it was only checked, or is portable
	payload  []byte           // of a portable one
	res      *compile.Result  // its parts; without an object if it was only checked
	warnings Diagnostics
	machine  *Machine
	probe    probe.Options
	take     bool // CompileOptions.Take

	groups []*probe.Stored // of a portable one, in place of programs
}

// parts are those of the program. The zero Program has none.
func (p *Program) parts() *compile.Result {
	if p.res == nil {
		return &compile.Result{Object: &object.Object{}}
	}
	return p.res
}

// Check finds the mistakes of a script. The program has types and nothing that
// could be started. The error is [Diagnostics] if the script is wrong.
func Check(ctx context.Context, s *Script, o *CompileOptions) (*Program, error) {
	return build(ctx, s, o, true)
}

// Compile compiles a script. The error is [Diagnostics] if the script is wrong.
func Compile(ctx context.Context, s *Script, o *CompileOptions) (*Program, error) {
	return build(ctx, s, o, false)
}

// Errors of values that the functions of this package have not made.
var (
	errNoContext = errors.New("hawk: the Context is nil")
	errNoMachine = errors.New("hawk: the Machine is neither of Host nor of Recorded")
	errNoSession = errors.New("hawk: the Session is none that Start has made")
	errNoMap     = errors.New("hawk: the Map is none that Session.Map has found")
)

// build compiles a script, or with typesOnly checks it. The settings are those of the caller.
func build(ctx context.Context, s *Script, o *CompileOptions, typesOnly bool) (*Program, error) {
	switch {
	case ctx == nil:
		return nil, errNoContext
	case s == nil:
		return nil, errors.New("hawk: the Script is nil")
	}
	if o == nil {
		o = &CompileOptions{}
	}
	p := &Program{take: o.Take}
	if err := p.aim(o); err != nil {
		return nil, err
	}
	defaults, err := config.Given(o.Config)
	if err != nil {
		return nil, fmt.Errorf("hawk: setting %w", err)
	}
	opts := compile.Options{
		Params: s.Args, Defaults: defaults, Files: s.FS, Probe: p.probe, TypesOnly: typesOnly, Take: o.Take,
		Cancelled: ctx.Err,
	}
	if s.FS == nil {
		opts.Files = noFiles{}
	}
	var pol *policy.Policy
	if o.Policy != nil {
		pol = (*policy.Policy)(o.Policy)
		bad := &source.Diagnostics{}
		if pol.Check(bad); bad.HasErrors() {
			return nil, diagnostics(bad)
		}
		opts.Vet = pol.Typed
	}
	if o.Portable && !typesOnly {
		if o.Take {
			return nil, errors.New("hawk: the maps of a program that is portable cannot be taken")
		}
		if o.PID != 0 || o.Cgroups != nil {
			return nil, errors.New("hawk: a program that is portable cannot be for one process or control group")
		}
		return p.portable(ctx, s, opts, pol)
	}
	opts.Probe.Named = config.Named{}
	for name, text := range s.Options {
		opts.Probe.Named[name] = config.NamedValue{Text: text}
	}
	prog, ds := session.Compile(s.file(), opts)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if prog != nil && !typesOnly && pol != nil {
		pol.Object(prog.Object, ds)
	}
	all := diagnostics(ds)
	if all.failed() || prog == nil {
		return nil, all
	}
	p.res, p.warnings = prog.Result, all
	given, err := optionValues(p.options(), s.Options)
	if err != nil {
		return nil, err
	}
	if !typesOnly {
		p.prog = prog.Set(given)
	}
	return p, nil
}

// aim says which machine a program is for, and which of its processes.
func (p *Program) aim(o *CompileOptions) error {
	p.machine = o.Machine
	if p.machine == nil {
		p.machine = Host()
	}
	if !p.machine.known() {
		return errNoMachine
	}
	if o.PID < 0 {
		return fmt.Errorf("hawk: no process has the number %d", o.PID)
	}
	p.probe = probe.Options{Machine: p.machine.m, PID: o.PID, PIDFilter: o.PID != 0, Unsafe: o.Unsafe}
	for _, dir := range o.Cgroups {
		group, err := p.machine.m.ControlGroup(dir)
		if err != nil {
			return failure(fmt.Errorf("hawk: control group: %w", err))
		}
		p.probe.Tasks.Cgroups = append(p.probe.Tasks.Cgroups, group)
	}
	return nil
}

// portable finishes a program that is compiled for other kernels, too.
func (p *Program) portable(
	ctx context.Context, s *Script, o compile.Options, pol *policy.Policy,
) (*Program, error) {
	if pol != nil { // judged by what it is for this machine
		prog, ds := session.Compile(s.file(), o)
		if prog != nil {
			pol.Object(prog.Object, ds)
		}
		if prog == nil || ds.HasErrors() {
			return nil, diagnostics(ds)
		}
	}
	payload, err := ahead(s, o, p.machine.m.Arch(), func(ds Diagnostics) { p.warnings = ds })
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, named(err)
	case payload == nil || p.warnings.failed():
		return nil, p.warnings
	}
	decoded, err := aot.Decode(payload)
	if err != nil {
		return nil, named(err)
	}
	p.payload = payload
	if !p.machine.m.Live() { // it starts wherever it is
		p.machine = Host()
		p.probe.Machine = p.machine.m
	}
	p.res = &compile.Result{Object: decoded.Layout(), Config: decoded.Config}
	p.groups = decoded.Groups()
	return p, nil
}

// optionValues are what named options of a script are given, as it lies in memory.
func optionValues(options []*object.Option, given map[string]string) (map[string][]byte, error) {
	values := map[string][]byte{}
	var names []string
	for _, o := range options {
		names = append(names, o.Name)
	}
	for name, text := range given {
		i := slices.Index(names, name)
		if i < 0 {
			err := fmt.Errorf("hawk: Script.Options: the script has no option %s", name)
			if near := spell.Nearest(name, names); near != "" {
				err = fmt.Errorf("%w: did you mean %s?", err, near)
			}
			return nil, err
		}
		v, err := options[i].Parse(text, true)
		if err != nil {
			return nil, fmt.Errorf("hawk: option %s %w", name, err)
		}
		values[name] = v
	}
	return values, nil
}

// bind is the program as it runs.
func (p *Program) bind(printMaps bool) (*session.Program, error) {
	prog := p.prog
	if p.payload != nil {
		var err error
		if prog, err = p.bound(); err != nil {
			return nil, err
		}
	}
	prog, err := prog.Select(probe.NotOurs)
	if err == nil && !printMaps {
		prog = prog.Configure(func(c *config.Config) { c.PrintMapsOnExit = false })
	}
	return prog, named(err)
}

// noFiles is a file system without files.
type noFiles struct{}

func (noFiles) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// Warnings are what may be wrong with a script that compiles.
func (p *Program) Warnings() Diagnostics { return p.warnings }

// ErrScript, ErrPolicy and the others are what errors are, as errors.Is finds out.
var (
	ErrScript   = errors.New("hawk: the script is wrong")
	ErrPolicy   = errors.New("hawk: the policy does not permit the script")
	ErrVerifier = errors.New("hawk: the kernel's verifier refused a program")
	ErrBind     = errors.New("hawk: the object was made for another machine")
	ErrBudget   = errors.New("hawk: the programs took more than their budget")
	// ErrSignature is an object that none of the keys has signed.
	ErrSignature = errors.New("hawk: the object is signed with none of the keys")
	// ErrDamaged is an object that was cut or changed, or is none of hawk's.
	ErrDamaged = errors.New("hawk: the object is damaged")
)
