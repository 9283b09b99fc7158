// Package policy holds scripts to what somebody permits: kinds of probes,
// functions, sizes, and whether memory of processes is read. It looks at the typed
// program, in which macros and functions are in place, and at the instructions.
package policy

import (
	"slices"
	"strings"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/check"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/spell"
	"github.com/hawktrace/hawk/internal/stdlib"
)

// Code is the code of the messages about what is not permitted.
const Code source.Code = "policy"

// Bad is the code of the messages about a policy that says nothing that could be held to.
const Bad source.Code = "bad-policy"

// A Policy is what a script may do.
type Policy struct {
	Kinds                  []string // of probes; nil: all
	Deny                   []string // functions that may not be called
	MaxProbes, MaxMapBytes int      // 0: no limit of its own
	UserMemory             bool
}

// Check reports what the policy itself has wrong. A misspelt name in Deny would permit what
// was to be denied.
func (p *Policy) Check(ds *source.Diagnostics) {
	bad := func(field, what, name string, known []string) {
		d := ds.Errorf(Bad, source.Span{}, "Policy.%s: there is no %s %q", field, what, name)
		if near := spell.Nearest(name, known); near != "" {
			d.Hint("did you mean %s?", near)
		} else if field == "Deny" && stdlib.Find(name) != "" {
			d.Hint("%s() is a macro of the library: deny the functions that it calls", name)
		}
	}
	for _, name := range p.Kinds {
		if _, ok := probe.Lookup(name); !ok {
			bad("Kinds", "probe type", name, probe.Words())
		}
	}
	for _, name := range p.Deny {
		name = strings.TrimSuffix(name, "()")
		_, function := builtin.Lookup(name)
		_, agg := builtin.LookupAgg(name)
		if stands := func(f *builtin.Func) bool { return f.Name == name }; !function && !agg &&
			!slices.ContainsFunc(builtin.All(), stands) { // argN is in All only
			bad("Deny", "function", name, builtin.Names())
		}
	}
	if p.MaxProbes < 0 || p.MaxMapBytes < 0 {
		ds.Errorf(Bad, source.Span{}, "Policy.MaxProbes and Policy.MaxMapBytes cannot be negative")
	}
}

// permits reports whether probes of a kind may be used, by any of its names.
func (p *Policy) permits(k *probe.Kind) bool {
	return p.Kinds == nil || slices.ContainsFunc(p.Kinds, func(name string) bool {
		named, _ := probe.Lookup(name)
		return named == k
	})
}

// Typed judges what the script says.
func (p *Policy) Typed(prog *check.Program, ds *source.Diagnostics) {
	points := 0
	for _, pr := range prog.Probes {
		if !p.permits(pr.Kind) {
			ds.Errorf(Code, pr.At, "Probes of kind %s are not permitted", pr.Kind.Name)
		}
		points += len(pr.Points)
		if p.MaxProbes > 0 && points > p.MaxProbes {
			ds.Errorf(Code, pr.At, "More than %d probes are not permitted", p.MaxProbes)
			return
		}
		p.calls(pr, ds)
	}
}

func (p *Policy) calls(pr *check.Probe, ds *source.Diagnostics) {
	for expr, call := range pr.Info.CallsInOrder() {
		names := []string{call.Name}
		if f := call.Func; f != nil {
			names = append(append(append(names, f.Name), f.Old...), f.Also...)
		}
		for _, name := range names {
			if slices.Contains(p.Deny, strings.TrimSuffix(name, "()")) {
				ds.Errorf(Code, expr.Span(), "The function %s is not permitted", call.Name)
				break
			}
		}
		if f := call.Func; f != nil && f.Uses.Stack && !f.Uses.Kernel && !p.UserMemory {
			ds.Errorf(Code, expr.Span(), noMemory)
		}
	}
}

const noMemory = "Reading the memory of processes is not permitted"

// readers are the helpers of the kernel that read memory of processes.
var readers = []asm.BuiltinFunc{
	asm.FnProbeReadUser, asm.FnProbeReadUserStr, asm.FnCopyFromUser, asm.FnCopyFromUserTask, asm.FnProbeRead,
	asm.FnProbeReadStr,
}

// Object judges what the script has become.
func (p *Policy) Object(o *object.Object, ds *source.Diagnostics) {
	size := o.Data.Bytes
	for _, m := range o.Scripts {
		if m.Map >= 0 {
			k := o.Maps[m.Map]
			size += (k.KeySize + k.ValueSize) * k.MaxEntries
		}
	}
	if p.MaxMapBytes > 0 && size > p.MaxMapBytes {
		ds.Errorf(Code, source.Span{}, "Maps of %d bytes are not permitted, only of %d", size, p.MaxMapBytes)
	}
	if p.UserMemory {
		return
	}
	for _, pr := range o.Programs {
		if slices.ContainsFunc(pr.Code.Insns, readsUser) {
			ds.Errorf(Code, pr.At, noMemory)
		}
	}
}

func readsUser(in asm.Instruction) bool {
	return in.IsBuiltinCall() && slices.Contains(readers, asm.BuiltinFunc(in.Constant))
}
