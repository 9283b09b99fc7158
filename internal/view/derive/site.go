package derive

import (
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/check"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/view"
)

// A site is a place that emits, with what its copies call the arguments.
type site struct {
	view.Site
	inBegin bool
	names   []string // by the first copy, "" where copies disagree
	args    []view.Element
	index   []int
	exprs   []operand // of each of args, by the first copy; the zero value of what was taken apart
}

// An operand is an expression in its copy of a probe.
type operand struct {
	info *check.Info
	expr syntax.Expr
}

// site notes one copy of a call that emits.
func (d *deriver) site(p *check.Probe, c *builtin.Call) {
	at := c.Expr.Span()
	// Copies of a probe emit at one place, which is one site.
	i := slices.IndexFunc(d.sites, func(s *site) bool {
		return s.Builtin == c.Func.Name && s.At.File == at.File && s.At.Start == at.Start && s.At.End == at.End
	})
	if i < 0 {
		i = len(d.sites)
		s := &site{Site: view.Site{Builtin: c.Func.Name, At: at}, inBegin: p.Kind.Ours == probe.AtBegin}
		s.arguments(p.Info, c)
		d.sites = append(d.sites, s)
	} else {
		var again site
		again.arguments(p.Info, c)
		// A name counts if all copies agree about it.
		for j := range d.sites[i].names {
			if j >= len(again.names) || again.names[j] != d.sites[i].names[j] {
				d.sites[i].names[j] = ""
			}
		}
	}
	s := d.sites[i]
	s.inBegin = s.inBegin && p.Kind.Ours == probe.AtBegin
	// An attach point may stand on several lines.
	if text := strings.Join(strings.Fields(p.At.Text()), " "); !slices.Contains(s.Probes, text) {
		s.Probes = append(s.Probes, text)
	}
}

// arguments lists what makes a field: no format, no literal.
func (s *site) arguments(info *check.Info, c *builtin.Call) {
	params := c.Func.Params
	n := -1
	for i, e := range c.Args {
		param := params[min(i, len(params)-1)]
		switch param.Kind {
		case builtin.StringLit:
			// The first literal is the format; others are arguments of it.
			if text, ok := c.Str(i); ok && s.Format == "" {
				s.Format = text
			}
			continue
		case builtin.IntLit, builtin.Word:
			continue
		}
		// Literals count, so that fields are numbered by their place in the format.
		if n++; c.Consts[i].Kind == builtin.StrConst {
			continue
		}
		s.field(info, e, c.Types[i], n, param.Kind == builtin.MapOrValue)
	}
}

// field notes an argument; that of print is taken apart.
func (s *site) field(info *check.Info, e syntax.Expr, t types.Type, index int, apart bool) {
	names := []name{nameOf(info, e)}
	// Other builtins than print show a tuple as one text.
	if elemsOf(t) == nil || !apart {
		if names[0].of != nil {
			names[0] = name{}
		}
		l := leafOf(t)
		l.Name = names[0].text
		s.args, s.index = append(s.args, l), append(s.index, index)
		s.names, s.exprs = append(s.names, l.Name), append(s.exprs, operand{info, e})
		return
	}
	flat := flatten(names, t)
	// Members are fields of their own, which need names.
	for i, l := range leavesOf(t, nil, nil) {
		text := l.name
		if i < len(flat) && flat[i] != "" {
			text = flat[i]
		}
		s.args, s.index = append(s.args, l.Element), append(s.index, i)
		s.names, s.exprs = append(s.names, text), append(s.exprs, operand{})
	}
}

// units says what lengths of time the arguments are, by their expressions or else by their
// names.
func (s *site) units(d *dims) {
	for i := range s.args {
		a := &s.args[i]
		if a.Kind != view.Gauge {
			continue
		}
		dim := dim{}
		if s.exprs[i].expr != nil {
			dim = d.of(s.exprs[i].info, s.exprs[i].expr)
		}
		// A point in time gets no unit: tools that draw lengths would take it for one.
		switch dim.kind {
		case span:
			a.Unit = dim.unit()
		case unknown, plain:
			a.Unit = view.UnitOfName(s.names[i])
		}
	}
}

// leafOf is a value as one field, whatever it has inside.
func leafOf(t types.Type) view.Element {
	if elemsOf(t) == nil && t != nil {
		if _, ok := t.(*types.Struct); !ok {
			return leavesOf(t, nil, nil)[0].Element
		}
	}
	return view.Element{Type: t, Kind: view.Text}
}

// finish names the fields.
func (s *site) finish() {
	s.Args, s.Index = s.args, s.index
	for i, text := range view.ArgNames(s.names, s.index) {
		s.Args[i].Name = text
	}
}
