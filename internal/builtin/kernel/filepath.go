package kernel

import (
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/ir"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/types"
)

const (
	pathParts = 64  // directories that are walked up at most
	nameBytes = 255 // of one of them
	offStack  = 520 // bytes of an object that cannot lie on the stack, where old kernels want known offsets
	deleted   = " (deleted)"
	ellipsis  = "..."
)

// Magic numbers of the file systems whose files have no path.
const (
	pipefs  = 0x50495045
	sockfs  = 0x534f434b
	pidfs   = 0x50494446
	nsfs    = 0x6e736673
	anonfs  = 0x09041934
	rowText = 16 // bytes of a row of prefixes: text, at its end; its length
)

// prefixes are what stands before the number or the name of a file without a path.
var prefixes = [...]struct {
	magic int64
	text  string
}{
	{pipefs, "pipe:["}, {sockfs, "socket:["}, {pidfs, "pidfd:["}, {nsfs, "ns:["}, {anonfs, "anon_inode:"}, {0, "/"},
}

// numbered is how many of prefixes are followed by the number of an inode.
// They stand in front in the table, so that one comparison tells.
const numbered = 4

var _ = builtin.Define(builtin.Func{
	Name: "filepath", LabelOf: builtin.FirstArg, Min: 1, Yields: "string",
	Params: []builtin.Param{builtin.AnyValue.Named("file")},
	Doc: "The path of a file, of a `struct file *` (as `fdfile()` yields it), `struct path *` or `struct dentry *`, " +
		"in any probe. It is found by walking up the directories, across mounts, up to the root of the current " +
		"task; of a `struct dentry *`, which says nothing about mounts, up to that of the file system. Files " +
		"without a path are named as in /proc/PID/fd: `pipe:[123]`, `socket:[123]`, `anon_inode:[eventfd]`. " +
		"` (deleted)` follows the path of a file that has been removed. What has more than 64 directories, or " +
		"does not fit `max_strlen`, is cut in front and begins with `...`; a null pointer is an empty string.",
	Example: `tracepoint:syscalls:sys_enter_fsync { print(filepath(fdfile(args.fd))); }`,
	Check: func(c *builtin.Call) types.Type {
		if c.Types[0] == nil {
			return nil
		}
		if name := pathStruct(c.Types[0]); name == "" {
			c.Errorf(c.Args[0], "argument-type", "filepath() expects a 'struct file *', 'struct path *' or "+
				"'struct dentry *', not %s", c.Types[0])
		}
		walkedMembers(c)
		return &types.String{Cap: pathCap(c.Config.MaxStrlen)}
	},
	Lower: func(g builtin.Gen, c *builtin.Call, dst *ir.Value) *ir.Value {
		p := builtin.Place(g, c.Result, dst)
		g.B().Zero(p, 0, c.Result.Size())
		fileText(g, c, p)
		return p
	},
	Text: fileText,
})

var _ = builtin.Define(builtin.Func{
	Name: "abspath", LabelOf: builtin.LastArg, Min: 2, Yields: "string",
	Params: []builtin.Param{builtin.Integer.Named("dirfd"), builtin.Address.Named("path")},
	Doc: "The absolute path that a path in user memory means to the current task, as system calls take it with a " +
		"descriptor of a directory: the text as it is if it begins with `/`; else the path of the directory, " +
		"or of the task's own if `dirfd` is `AT_FDCWD` (-100), `/` and the text. Neither `.` and `..` nor symbolic " +
		"links are resolved. It is cut in front as by `filepath()`; what cannot be read is as of `str()`.",
	Example: `tracepoint:syscalls:sys_enter_openat { print(abspath(args.dfd, args.filename)); }`,
	Check: func(c *builtin.Call) types.Type {
		walkedMembers(c)
		return &types.String{Cap: pathCap(c.Config.MaxStrlen), Marked: true}
	},
	Lower: func(g builtin.Gen, c *builtin.Call, dst *ir.Value) *ir.Value {
		p := builtin.Place(g, c.Result, dst)
		g.B().Zero(p, 0, c.Result.Size())
		absoluteText(g, c, p)
		return p
	},
	Text: absoluteText,
})

// walkedMembers asks for the members that lead from a file to the root.
// Layouts are the running kernel's: a member that has moved or gone is an error here, not a
// wrong path.
func walkedMembers(c *builtin.Call) {
	// One search finds all that a walk goes through. One for each would take as long as the compilation.
	c.Machine.ExpectStructs("mount", "task_struct", "fs_struct", "vfsmount", "path", "file", "files_struct", "fdtable",
		"inode", "super_block")
	builtin.KernelMembers(c, "dentry", "d_parent", "d_name", "d_hash", "d_sb", "d_inode")
	builtin.KernelMembers(c, "mount", "mnt", "mnt_parent", "mnt_mountpoint")
}

// pathCap is the room for a path: enough for what stands in place of one.
// "anon_inode:[" and the name of an inode have to fit.
func pathCap(limit int) int { return max(limit, 64) }

// pathStruct is the name of the struct that t points to, "" if it leads to no path.
func pathStruct(t types.Type) string {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem
	}
	s, ok := t.(*types.Struct)
	if !ok || s.Name != "file" && s.Name != "path" && s.Name != "dentry" {
		return ""
	}
	return s.Name
}

// A walk follows structs of the kernel by reading them. Each struct is read by a helper: a
// directory may be removed while it is walked, and its memory be something else by then. The path
// is then wrong, and nothing else happens.
type walk struct {
	g builtin.Gen
	b *ir.Builder
}

// member is the address of a member of the struct at p.
// Several names lead through structs that lie in one another; nothing is read.
func (w walk) member(p *ir.Value, of string, names ...string) *ir.Value {
	for _, name := range names {
		t, err := w.g.Context().O.Machine.TypeByName("struct", of)
		if err != nil {
			return p // the check has said so
		}
		f, _ := t.(*types.Struct).Field(name)
		p = probe.Member(w.b, p, f)
		if s, ok := f.Type.(*types.Struct); ok {
			of = s.Name
		}
	}
	return p
}

// word reads 8 bytes, which are 0 if there is nothing.
// A read of address 0 fails and yields 0, so that a chain of pointers needs one test at its
// end.
func (w walk) word(addr *ir.Value) *ir.Value {
	to := w.g.Temp("word", 8, 8)
	w.b.Store(to, 0, 8, builtin.Number(w.g, 0))
	builtin.Helper(w.g, asm.FnProbeReadKernel, to, builtin.Number(w.g, 8), addr)
	return w.b.U64(to, 0)
}

// get is the pointer that a member of the struct at p holds.
func (w walk) get(p *ir.Value, of string, names ...string) *ir.Value {
	return w.word(w.member(p, of, names...))
}

// name reads the text and the length of a dentry's name, at most nameBytes.
// The mask tells the verifier the bound; names of files are no longer than it.
func (w walk) name(dentry *ir.Value) (text, n *ir.Value) {
	const lengthAt, textAt = 4, 8 // of struct qstr: hash, length, text
	q := w.member(dentry, "dentry", "d_name")
	to := w.g.Temp("name", 16, 8)
	w.b.Zero(to, 0, 16)
	builtin.Helper(w.g, asm.FnProbeReadKernel, to, builtin.Number(w.g, 16), q)
	n = w.b.Arith(ir.And, w.b.U32(to, lengthAt), builtin.Number(w.g, nameBytes))
	return w.b.U64(to, textAt), n
}

// at is a place in the work space, which the verifier is to know to be below limit.
// Arithmetic before it may have gone wrong only in programs that nobody wrote; the test costs
// little.
func (w walk) at(work, off *ir.Value, limit int) *ir.Value {
	return w.b.Arith(ir.Add, work, w.b.UMin(off, int64(limit-1)))
}

// hidden is v, of which the verifier knows nothing: what it knew would make every round of
// a loop another one.
// The word that is added is always 0, and may change as far as the verifier is concerned.
func hidden(g builtin.Gen, v *ir.Value) *ir.Value {
	b := g.B()
	return b.Arith(ir.Add, v, b.U64(b.Data(object.DataZero), 0))
}

// Offsets in the state of a walk.
const (
	walkDentry  = 0
	walkMount   = 8  // struct vfsmount, 0: not known
	walkTop     = 16 // the root of that mount
	walkOff     = 24 // where the text begins in the work space
	walkRoot    = 32 // root directory and mount of the current task
	walkRootMnt = 40
	walkBytes   = 48
)

// pathWork is the work space for a path of at most limit bytes: what is found of it
// grows to the left from limit, what follows stands behind.
// A name may be written whole before it is known that the path is too long.
func pathWork(g builtin.Gen, limit int) *ir.Value {
	return g.Temp("path", types.RoundUp(max(2*limit+nameBytes+1, offStack), 8), 8)
}

// climb writes the path of a directory entry in front of start in the work space and
// yields where it begins.
// It begins at the file and ends at the root directory of the task, which in a container is not
// that of the machine.
func (w walk) climb(c *builtin.Call, work *ir.Value, start int, dentry, mount *ir.Value) *ir.Value {
	g, b := w.g, w.b
	state := g.Temp("walk", walkBytes, 8)
	fs := w.get(g.Task(), "task_struct", "fs")
	b.Store(state, walkDentry, 8, dentry)
	b.Store(state, walkMount, 8, mount)
	b.Store(state, walkTop, 8, w.get(mount, "vfsmount", "mnt_root"))
	b.Store(state, walkOff, 8, hidden(g, builtin.Number(g, int64(start))))
	b.Store(state, walkRoot, 8, w.get(fs, "fs_struct", "root", "dentry"))
	b.Store(state, walkRootMnt, 8, w.get(fs, "fs_struct", "root", "mnt"))
	over := g.Walk(c.Expr, builtin.Number(g, pathParts), pathParts, []*ir.Value{work, state},
		func(_ *ir.Value, vals []*ir.Value) *ir.Value { return w.step(vals[0], vals[1], start) })
	// A walk that has not come to an end is cut, as one that ran out of room, which has
	// begun a name that it could not write.
	off := b.U64(state, walkOff)
	cut := b.Arith(ir.Or, b.SLt(over, 0),
		b.Eq(b.U64(state, walkDentry), 0))
	return g.Choose(cut, func() *ir.Value {
		off := b.Add(off, int64(-len(ellipsis)))
		builtin.StoreBytes(g, w.at(work, off, start), []byte(ellipsis), len(ellipsis))
		return off
	}, func() *ir.Value { return off })
}

// step writes one name, or goes on from the root of a mount to where it is mounted; not 0
// if that was the last one.
// All that a round leaves for the next lies in the state, in memory: values in registers would
// multiply the states of the verifier.
func (w walk) step(work, state *ir.Value, start int) *ir.Value {
	g, b := w.g, w.b
	last, more := func() *ir.Value { return builtin.Number(g, 1) }, func() *ir.Value { return builtin.Number(g, 0) }
	dentry, mount := b.U64(state, walkDentry), b.U64(state, walkMount)
	// One test in place of two, since the verifier follows all that come of them in every round.
	root := b.Arith(ir.Eq, builtin.Number(g, 0), b.Arith(ir.Or,
		b.Arith(ir.Xor, dentry, b.U64(state, walkRoot)),
		b.Arith(ir.Xor, mount, b.U64(state, walkRootMnt))))
	parent := w.get(dentry, "dentry", "d_parent")
	top := b.Arith(ir.Or, b.Arith(ir.Eq, dentry, parent),
		b.Arith(ir.Eq, dentry, b.U64(state, walkTop)))
	return g.Choose(root, last, func() *ir.Value {
		return g.Choose(top, func() *ir.Value {
			// struct vfsmount is a member of struct mount.
			whole := b.Arith(ir.Sub, mount, w.member(builtin.Number(g, 0), "mount", "mnt"))
			above := w.get(whole, "mount", "mnt_parent")
			none := b.Arith(ir.Or, b.Arith(ir.Eq, above, whole), b.Arith(ir.Or,
				b.Eq(above, 0), b.Eq(mount, 0)))
			return g.Choose(none, last, func() *ir.Value {
				b.Store(state, walkDentry, 8, w.get(whole, "mount", "mnt_mountpoint"))
				b.Store(state, walkMount, 8, w.member(above, "mount", "mnt"))
				b.Store(state, walkTop, 8, w.get(above, "mount", "mnt", "mnt_root"))
				return more()
			})
		}, func() *ir.Value {
			text, n := w.name(dentry)
			off := b.Add(b.Arith(ir.Sub, b.U64(state, walkOff), n), -1)
			// Room for the mark of a cut is left.
			spare := b.Add(off, int64(-len(ellipsis)))
			fits := b.ULt(spare, int64(start-len(ellipsis)))
			return g.Choose(fits, func() *ir.Value {
				to := w.at(work, off, start)
				b.Store(to, 0, 1, builtin.Number(g, '/'))
				builtin.Helper(g, asm.FnProbeReadKernel, b.Add(to, 1), n, text)
				b.Store(state, walkOff, 8, hidden(g, off))
				b.Store(state, walkDentry, 8, parent)
				return more()
			}, func() *ir.Value {
				b.Store(state, walkDentry, 8, builtin.Number(g, 0))
				return last()
			})
		})
	})
}

// fileText writes the path of the file that c is about to p and yields its length with
// the NUL.
// It is found from the right to the left, and copied to its place once it is whole.
func fileText(g builtin.Gen, c *builtin.Call, p *ir.Value) *ir.Value {
	w, b := walk{g, g.B()}, g.B()
	limit := c.Result.Size()
	// The text grows from here to the left; behind it is room for the mark of a removed file.
	start := limit - len(deleted) - 1
	of := pathStruct(c.Types[0])
	var at *ir.Value
	if _, pointer := c.Types[0].(*types.Pointer); pointer {
		at = g.Scalar(c.Args[0])
	} else {
		at = g.Address(c.Args[0])
	}
	dentry, mount := at, builtin.Number(g, 0)
	if of == "file" {
		at, of = w.member(at, "file", "f_path"), "path"
	}
	if of == "path" {
		dentry, mount = w.get(at, "path", "dentry"), w.get(at, "path", "mnt")
	}
	work := pathWork(g, limit)
	parent := w.get(dentry, "dentry", "d_parent")
	sb := w.get(dentry, "dentry", "d_sb")
	// The root of a file system, and what was never in a directory, is its own parent.
	alone := b.Arith(ir.Eq, parent, dentry)
	pathless := b.Arith(ir.And, alone, b.Arith(ir.Ne, w.get(sb, "super_block", "s_root"), dentry))
	off := g.Choose(b.Ne(parent, 0), func() *ir.Value {
		return g.Choose(pathless, func() *ir.Value {
			return w.pathless(c, work, start, dentry, sb)
		}, func() *ir.Value {
			hashed := w.word(b.Add(w.member(dentry, "dentry", "d_hash"), 8)) // what points to it in the hash
			gone := b.Arith(ir.And, b.Eq(hashed, 0),
				b.Xor(alone, 1))
			b.Store(work, start, 1, builtin.Number(g, 0))
			g.Rarely(gone, func() {
				builtin.StoreBytes(g, b.Add(work, int64(start)), []byte(deleted), len(deleted)+1)
			})
			return w.rooted(work, start, w.climb(c, work, start, dentry, mount))
		})
	}, func() *ir.Value { // there is no file
		b.Store(work, start, 1, builtin.Number(g, 0))
		return builtin.Number(g, int64(start))
	})
	return builtin.Helper(g, asm.FnProbeReadKernelStr, p, builtin.Number(g, int64(limit)), w.at(work, off, start+1))
}

// rooted is where a path begins, for which nothing has to be written if it is that of
// the root.
// No name was written in front of the root.
func (w walk) rooted(work *ir.Value, start int, off *ir.Value) *ir.Value {
	g, b := w.g, w.b
	none := b.Arith(ir.And, b.Eq(off, int64(start)),
		b.Ne(b.U8(work, start), '/'))
	return g.Choose(none, func() *ir.Value {
		b.Store(work, start-1, 1, builtin.Number(g, '/'))
		return builtin.Number(g, int64(start-1))
	}, func() *ir.Value { return off })
}

// pathless writes what a file is called that lies in no directory, so that it ends at or
// behind start, and yields where it begins.
// The magic number of its file system tells the sort of file, as the kernel's own names of them
// are made by functions.
func (w walk) pathless(c *builtin.Call, work *ir.Value, start int, dentry, sb *ir.Value) *ir.Value {
	g, b := w.g, w.b
	var table []byte
	for _, p := range prefixes {
		row := make([]byte, rowText+8)
		copy(row[rowText-len(p.text):], p.text)
		row[rowText] = byte(len(p.text))
		table = append(table, row...)
	}
	magic := w.get(sb, "super_block", "s_magic")
	row := builtin.Number(g, int64(len(prefixes)-1))
	for i := len(prefixes) - 2; i >= 0; i-- {
		other := row
		row = g.Choose(b.Eq(magic, prefixes[i].magic),
			func() *ir.Value { return builtin.Number(g, int64(i)) }, func() *ir.Value { return other })
	}
	off := g.Choose(b.ULt(row, numbered), func() *ir.Value {
		builtin.StoreBytes(g, b.Add(work, int64(start)), []byte("]"), 2)
		inode := w.get(dentry, "dentry", "d_inode")
		return w.digits(c, work, start, w.get(inode, "inode", "i_ino"))
	}, func() *ir.Value {
		builtin.StoreBytes(g, b.Add(work, int64(start)), []byte(deleted), len(deleted)+1)
		g.When(b.Eq(row, numbered), func() { // which is never in a directory
			b.Store(work, start, 1, builtin.Number(g, 0))
		})
		text, n := w.name(dentry)
		n = g.Choose(b.ULe(n, int64(start-rowText)),
			func() *ir.Value { return n }, func() *ir.Value { return builtin.Number(g, 0) })
		n = b.UMin(n, int64(start-rowText)) // for the verifier
		off := b.Arith(ir.Sub, builtin.Number(g, int64(start)), n)
		builtin.Helper(g, asm.FnProbeReadKernel, w.at(work, off, start+1), n, text)
		return off
	})
	entry := b.Arith(ir.Add, b.Data(g.Table(table)), b.Mul(row, rowText+8))
	builtin.Helper(g, asm.FnProbeReadKernel, w.at(work, b.Add(off, -rowText), start), builtin.Number(g, rowText), entry)
	return b.Arith(ir.Sub, off, b.U8(entry, rowText))
}

// digits writes a number in front of start and yields where it begins.
// The last digit comes first, which suits a text that grows to the left.
func (w walk) digits(c *builtin.Call, work *ir.Value, start int, n *ir.Value) *ir.Value {
	// A 64-bit number has that many.
	const most = 20
	g, b := w.g, w.b
	state := g.Temp("digits", 16, 8)
	b.Store(state, 0, 8, n)
	b.Store(state, 8, 8, hidden(g, builtin.Number(g, int64(start))))
	step := func(_ *ir.Value, vals []*ir.Value) *ir.Value {
		n, off := b.U64(vals[1], 0), b.Add(b.U64(vals[1], 8), -1)
		digit := b.Add(b.Arith(ir.UMod, n, builtin.Number(g, 10)), '0')
		b.Store(w.at(vals[0], off, start), 0, 1, digit)
		rest := b.Arith(ir.UDiv, n, builtin.Number(g, 10))
		b.Store(vals[1], 0, 8, rest)
		b.Store(vals[1], 8, 8, hidden(g, off))
		return b.Eq(rest, 0)
	}
	g.Walk(c.Expr, builtin.Number(g, most), most, []*ir.Value{work, state}, step)
	return b.U64(state, 8)
}

// absoluteText writes the text of abspath to p and yields its length with the NUL.
// The text from user memory is read behind the place where the directory ends, and needs no
// second copy.
func absoluteText(g builtin.Gen, c *builtin.Call, p *ir.Value) *ir.Value {
	w, b := walk{g, g.B()}, g.B()
	limit := c.Result.Size()
	work := pathWork(g, limit)
	fd, user := g.Scalar(c.Args[0]), g.Scalar(c.Args[1])
	b.Store(work, limit, 1, builtin.Number(g, 0))
	n := g.ReadStr(c.Expr, types.User, work, limit, builtin.Number(g, int64(limit)), user)
	return g.Choose(b.SLt(n, 0), func() *ir.Value {
		return g.Unreadable(p, user)
	}, func() *ir.Value {
		first := b.U8(work, limit)
		// The path of the directory ends before the slash that joins them.
		start := limit - 1
		off := g.Choose(b.Eq(first, '/'), func() *ir.Value {
			return builtin.Number(g, int64(limit))
		}, func() *ir.Value {
			b.Store(work, start, 1, g.Choose(first, func() *ir.Value { return builtin.Number(g, '/') },
				func() *ir.Value { return builtin.Number(g, 0) }))
			dir := w.directory(fd)
			dentry := w.get(dir, "path", "dentry")
			return g.Choose(b.Ne(dentry, 0), func() *ir.Value {
				return w.rooted(work, start, w.climb(c, work, start, dentry, w.get(dir, "path", "mnt")))
			}, func() *ir.Value { return builtin.Number(g, int64(limit)) }) // no such descriptor: what there is
		})
		// Both are together longer than limit at most by what is cut in front.
		from := hidden(g, n)
		off = g.Choose(b.Arith(ir.SLt, off, from), func() *ir.Value {
			builtin.StoreBytes(g, w.at(work, from, limit), []byte(ellipsis), len(ellipsis))
			return from
		}, func() *ir.Value { return off })
		return builtin.Helper(g, asm.FnProbeReadKernelStr, p, builtin.Number(g, int64(limit)), w.at(work, off, limit+1))
	})
}

// directory is the address of the struct path that a descriptor stands for where system
// calls take one of a directory, or that leads nowhere.
// A number that is no open descriptor leads to address 0, whose members are 0 as well.
func (w walk) directory(fd *ir.Value) *ir.Value {
	g, b := w.g, w.b
	fd = b.Ext(fd, 4, true)
	return g.Choose(b.Eq(fd, unix.AT_FDCWD), func() *ir.Value {
		return w.member(w.get(g.Task(), "task_struct", "fs"), "fs_struct", "pwd")
	}, func() *ir.Value {
		// struct fdtable has an array of struct file * (include/linux/fdtable.h). It is read
		// without its lock; another thread may close the descriptor meanwhile.
		table := w.get(w.get(g.Task(), "task_struct", "files"), "files_struct", "fdt")
		most := b.Ext(w.get(table, "fdtable", "max_fds"), 4, false)
		return g.Choose(b.Arith(ir.ULt, b.Ext(fd, 4, false), most), func() *ir.Value {
			slot := b.Arith(ir.Add, w.get(table, "fdtable", "fd"), b.Mul(fd, 8))
			return w.member(w.word(slot), "file", "f_path")
		}, func() *ir.Value { return builtin.Number(g, 0) })
	})
}
