// Package policy holds scripts to what somebody permits: kinds of probes,
// functions, sizes, and whether memory of processes is read. It looks at the typed
// program, in which macros and functions are in place, and at the instructions.
package policy

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/cilium/ebpf/asm"

	"github.com/hawktrace/hawk/internal/check"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/syntax"
)

// Code is the code of the messages about what is not permitted.
const Code source.Code = "policy"

// A Policy is what a script may do.
type Policy struct {
	Kinds                  []string // of probes; nil: all
	Deny                   []string // functions that may not be called
	MaxProbes, MaxMapBytes int      // 0: no limit of its own
	UserMemory             bool
}

// Typed judges what the script says.
func (p *Policy) Typed(prog *check.Program, ds *source.Diagnostics) {
	points := 0
	for _, pr := range prog.Probes {
		k := pr.Kind
		named := func(name string) bool { return name == k.Name || slices.Contains(k.Aliases, name) }
		if p.Kinds != nil && !slices.ContainsFunc(p.Kinds, named) {
			ds.Errorf(Code, pr.At, "Probes of kind %s are not permitted", k.Name)
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
	inOrder := func(a, b syntax.Expr) int { return cmp.Compare(a.Span().Start, b.Span().Start) }
	for _, expr := range slices.SortedFunc(maps.Keys(pr.Info.Calls), inOrder) {
		call := pr.Info.Calls[expr]
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
