package compile

import (
	"github.com/hawktrace/hawk/internal/codegen"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/probe/kernel"
)

// mergeEnds makes one program of the two of a script that traces calls and
// returns of the same kernel functions. With more programs on kernel functions
// the order in which they run could become another one.
// One session of the kernel fires at both ends, where it has sessions, and asks the program
// which it is.
func mergeEnds(o *object.Object, opts *probe.Options) {
	var on []int
	for i, p := range o.Programs {
		if p.Group.UsesKprobes() {
			on = append(on, i)
		}
	}
	if len(on) != 2 {
		return
	}
	entry, ret := o.Programs[on[0]], o.Programs[on[1]]
	group, isReturn, ok := kernel.OneSession(entry.Group, ret.Group, opts)
	if !ok {
		if group, isReturn, ok = kernel.OneSession(ret.Group, entry.Group, opts); !ok {
			return
		}
		entry, ret = ret, entry
	}
	code, err := codegen.Either(isReturn, entry.Code, ret.Code)
	if err != nil {
		return // there is no room on the stack: two programs will do
	}
	o.Programs[on[0]] = &object.Program{Name: entry.Name, Group: group, Code: code, At: entry.At}
	o.Programs = append(o.Programs[:on[1]], o.Programs[on[1]+1:]...)
}
