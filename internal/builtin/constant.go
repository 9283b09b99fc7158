package builtin

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/config"
	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/exe"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/syntax"
	"github.com/hawktrace/hawk/internal/types"
)

// boolConst is a boolean that is known.
func boolConst(v bool) Const {
	k := Const{Kind: BoolConst}
	if v {
		k.Int = 1
	}
	return k
}

var _ = Define(Func{
	Name: "default_str_length", Result: types.Uint64, Early: true,
	Doc:     "The capacity of strings, `max_strlen`.",
	Example: `begin { print(default_str_length()); }`,
	Const: func(c *Call) (Const, bool) {
		return Const{Kind: IntConst, Int: uint64(c.Config.MaxStrlen)}, true
	},
})

var _ = Define(Func{
	Name: "is_scalar", Min: 1, Params: []Param{{"map", WholeMap}}, Result: types.Bool,
	Doc:     "Whether a map is used without keys.",
	Example: `begin { @ = 1; print(is_scalar(@)); }`,
	Const:   func(c *Call) (Const, bool) { return boolConst(!c.MapKeyed), c.MapName != "" },
})

var _ = Define(Func{
	Name: "kfunc_exist", Also: []string{"__builtin_kfunc_exist"}, Min: 1, Params: []Param{{"name", StringLit}},
	Result: types.Bool, Early: true,
	Doc:     "Whether the kernel's type information has a function of a name.",
	Example: `begin { if comptime (kfunc_exist("bpf_task_from_pid")) { print("it does"); } }`,
	Const: func(c *Call) (Const, bool) {
		name, ok := c.Str(0)
		return boolConst(ok && c.Machine.HasKfunc(name) == nil), ok
	},
})

var _ = Define(Func{
	Name: "kfunc_allowed", Also: []string{"__builtin_kfunc_allowed"}, Min: 1, Params: []Param{{"name", StringLit}},
	Result:  types.Bool,
	Doc:     "Whether the kernel lets programs of this probe call a kernel function, found out by a trial.",
	Example: `fentry:vfs_read { if comptime (kfunc_allowed("bpf_task_from_pid")) { print("it does"); exit(); } }`,
	Check: func(c *Call) types.Type {
		// A function is checked by itself as well, where there is no program to try with.
		if c.Kind.Plan == nil {
			c.Errorf(c.Expr, "not-in-probe", "%s() depends on the probe and can not be used in a function", c.Name)
		}
		return types.Bool
	},
	Const: func(c *Call) (Const, bool) {
		name, ok := c.Str(0)
		if !ok || c.Kind.Plan == nil {
			return Const{}, false
		}
		return boolConst(kfuncAllowed(c, name) == nil), true
	},
})

// kfuncAllowed tries whether all programs of the call's probe may call a kernel function. All of
// them must be: the body is the same for each.
func kfuncAllowed(c *Call, name string) error {
	if err := c.Machine.HasKfunc(name); err != nil {
		return err
	}
	groups, err := c.Kind.Plan(c.Points, probe.Uses{Kfunc: true}, c.Opts)
	if err != nil {
		return err
	}
	for _, g := range groups {
		if err := g.MayCall(name, c.Opts); err != nil {
			return err
		}
	}
	return nil
}

// probedFile opens the file of the first point.
func probedFile(c *Call) (*exe.File, bool) {
	if len(c.Points) == 0 {
		return nil, false
	}
	f, err := c.Machine.Executables.Open(c.Points[0].Target)
	if err != nil {
		c.Errorf(c.Expr, "no-file", "%s: %s", c.Name, errno.Message(err))
	}
	return f, err == nil
}

var _ = Define(Func{
	Name: "elf_is_exe", Also: []string{"__builtin_elf_is_exe"}, Bare: true, Result: types.Bool,
	Probes:  probe.HasUserAddrs,
	Doc:     "Whether the probed file is a program that runs at the addresses it was linked for.",
	Example: `uprobe:/bin/bash:readline { print(elf_is_exe()); exit(); }`,
	Const: func(c *Call) (Const, bool) {
		f, ok := probedFile(c)
		if !ok {
			return Const{}, false
		}
		defer f.Close()
		return boolConst(f.Fixed()), true
	},
})

var _ = Define(Func{
	Name: "elf_info", Also: []string{"__builtin_elf_ino"}, Bare: true, Result: types.Uint64, Probes: probe.HasUserAddrs,
	Doc:     "The inode number of the probed file.",
	Example: `uprobe:/bin/bash:readline { print(elf_info()); exit(); }`,
	Const: func(c *Call) (Const, bool) {
		if len(c.Points) == 0 {
			return Const{}, false
		}
		var st unix.Stat_t
		if err := unix.Stat(exe.OnDisk(c.Points[0].Target), &st); err != nil {
			c.Errorf(c.Expr, "no-file", "%s: %s", c.Name,
				errno.Message(&os.PathError{Op: "stat", Path: c.Points[0].Target, Err: err}))
			return Const{}, false
		}
		return Const{Kind: IntConst, Int: st.Ino}, true
	},
})

var _ = Define(Func{
	Name: "__builtin_arch", Bare: true, Yields: "string", Early: true,
	Doc:     "The name of the machine's architecture, as `uname -m` has it.",
	Example: `begin { if comptime (__builtin_arch == "x86_64") { print(reg_size); } } macro reg_size() { 8 }`,
	Check:   func(c *Call) types.Type { return &types.String{Cap: len(c.Machine.Arch().Name) + 1} },
	Const:   func(c *Call) (Const, bool) { return Const{Kind: StrConst, Str: c.Machine.Arch().Name}, true },
})

var _ = Define(Func{
	Name: "__builtin_safe_mode", Bare: true, Result: types.Bool, Early: true,
	Doc:     "Whether `--unsafe` was left out.",
	Example: `interval:s:1 { if comptime (!__builtin_safe_mode) { system("date"); } }`,
	Const:   func(c *Call) (Const, bool) { return boolConst(!c.Opts.Unsafe), true },
})

var _ = Define(Func{
	Name: "__builtin_signal_num", Min: 1, Params: []Param{{"name", StringLit}}, Result: types.Uint64,
	Doc:     "The number of a signal, with or without SIG in front of its name.",
	Example: `tracepoint:signal:signal_generate / args.sig == __builtin_signal_num("KILL") / { @[comm] = count(); }`,
	Const: func(c *Call) (Const, bool) {
		name, ok := c.Str(0)
		n := signalNumber(name)
		if ok && n == 0 {
			c.Errorf(c.Args[0], "bad-argument", "%s(): %q is no signal", c.Name, name)
		}
		return Const{Kind: IntConst, Int: uint64(n)}, ok && n != 0
	},
})

var _ = Define(Func{
	Name: "config", Also: []string{"__builtin_config"}, Bare: true, Early: true,
	Doc:     "The settings in effect, as a record of literals: `config.max_strlen`.",
	Example: `begin { print(config.max_map_keys); }`,
	Yields:  "a record",
	Stands: func(c *Call) *syntax.Record {
		pos := syntax.Pos{At: c.Expr.Span()}
		rec := &syntax.Record{Pos: pos}
		for _, s := range config.Shown() {
			rec.Fields = append(rec.Fields, &syntax.RecordField{
				Pos: pos, Name: &syntax.Ident{Pos: pos, Name: s.Name}, Value: settingLit(pos, s.Type, s.Get(c.Config)),
			})
		}
		return rec
	},
})

// settingLit is the literal that a setting reads as.
func settingLit(pos syntax.Pos, t config.Type, text string) syntax.Expr {
	switch t {
	case config.Bool:
		return &syntax.BoolLit{Pos: pos, Value: text == "true"}
	case config.Int:
		n, _ := strconv.ParseUint(text, 10, 64)
		// The type of a setting does not depend on its value: a small number would be an int8.
		return &syntax.Cast{
			Pos: pos, Type: &syntax.TypeExpr{Pos: pos, Name: "uint64"},
			X: &syntax.IntLit{Pos: pos, Text: text, Value: n},
		}
	}
	return &syntax.StringLit{Pos: pos, Text: strconv.Quote(text), Value: text}
}
