package user

import (
	"debug/elf"
	"fmt"
	"os"

	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/proc"
)

// Watchpoints on variables and functions of files: where they are is known once
// the file is loaded.

// MatchVariable finds a symbol of a file, and its address in the process.
func MatchVariable(p *probe.Point, o *probe.Options) ([]*probe.Point, error) {
	var out []*probe.Point
	err := eachFile(p, o, func(path string, file *exe.File) error {
		sym, found := lookUp(file, o, func(f *exe.File) (exe.Symbol, bool) { return f.Symbol(p.Func) })
		if !found {
			return nil
		}
		q := *p
		q.Target, q.Address = path, sym.Addr
		if !file.Fixed() {
			bias, err := loadBias(&q, o, file)
			if err != nil {
				return err
			}
			q.Address += bias
		}
		out = append(out, &q)
		return nil
	})
	return out, err
}

// loadBias is how far the addresses of a file are from those it has in the traced process.
func loadBias(p *probe.Point, o *probe.Options, file *exe.File) (uint64, error) {
	if !o.OnePID() {
		return 0, probe.Hint(fmt.Errorf("%s is loaded at other addresses in every process", p.Target),
			"-p says in which one to watch; programs linked with -no-pie are always at the same")
	}
	maps, err := proc.Maps(o.PID)
	if err != nil {
		return 0, fmt.Errorf("what process %d has mapped cannot be read: %w", o.PID, err)
	}
	st, err := os.Stat(file.Path)
	if err != nil {
		return 0, err
	}
	for i := range maps {
		m := &maps[i]
		if !m.Exec || !m.IsFile() {
			continue
		}
		mapped, err := os.Stat(proc.MapFile(o.PID, m))
		if err != nil {
			mapped, err = os.Stat(o.Root() + m.Path) // what is behind map_files is for root alone
		}
		if err != nil || !os.SameFile(st, mapped) {
			continue
		}
		if bias, ok := file.Bias(m.Offset, m.End-m.Start); ok {
			return m.Start - m.Offset - bias, nil
		}
	}
	return 0, fmt.Errorf("process %d has not loaded %s", o.PID, p.Target)
}

// VariableNames lists the variables of the files of a point, for suggestions.
func VariableNames(p *probe.Point, o *probe.Options) []string {
	var out []string
	if p.Target == "" {
		return nil
	}
	eachFile(p, o, func(_ string, file *exe.File) error {
		withDebugFile(file, o, func(f *exe.File) bool {
			for r := range f.Symbols() {
				if r.Type == elf.STT_OBJECT {
					out = append(out, string(r.Name))
				}
			}
			return false
		})
		return nil
	})
	return out
}
