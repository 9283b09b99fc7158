package cli

import (
	"bufio"
	"cmp"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/btf"
	"github.com/hawktrace/hawk/internal/probe"
)

// listTypes lists the kernel's structs, unions or enums by pattern: names, or
// with -v definitions, each under the module it belongs to. It reports whether there were any.
func (c *command) listTypes(keyword, pattern string, out *bufio.Writer) (any bool, err error) {
	kinds := btf.Set(btf.Struct)
	switch keyword {
	case "union":
		kinds = btf.Set(btf.Union)
	case "enum":
		kinds = btf.Set(btf.Enum, btf.Enum64)
	}
	for _, module := range append([]string{"vmlinux"}, c.machine.BTFModules()...) {
		s, err := c.machine.ModuleBTF(module)
		if err != nil {
			if module == "vmlinux" {
				return any, err
			}
			continue // unloaded meanwhile
		}
		type found struct {
			name string
			id   uint32
		}
		var all []found
		err = s.Each(kinds, func(id uint32, _ btf.Kind, name []byte) bool {
			if probe.Glob(pattern, string(name)) {
				all = append(all, found{string(name), id})
			}
			return true
		})
		if err != nil {
			return any, err
		}
		any = any || len(all) > 0
		slices.SortFunc(all, func(a, b found) int {
			return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(a.id, b.id))
		})
		for i, f := range all {
			if c.verbose == 0 {
				if i == 0 || f.name != all[i-1].name {
					out.WriteString(keyword + " " + f.name + "\n")
				}
				continue
			}
			text, err := s.Definition(f.id)
			if err != nil {
				return any, err
			}
			out.WriteString(module + ": " + text + "\n")
		}
	}
	return any, nil
}
