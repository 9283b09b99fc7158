package strace

import (
	"bytes"
)

// structured appends what an argument points to; false if the kind is not of those here.
func (d *decoder) structured(i int, a arg, v uint64) bool {
	early := a.early || !a.out
	show := func(size int, f func(b []byte)) bool {
		b, ok := d.c.mem.whole(v, size, early)
		if v == 0 || !ok {
			d.ptr(v)
			return true
		}
		f(b)
		return true
	}
	switch a.kind {
	case "ts":
		return show(16, d.timespec)
	case "tv":
		return show(16, d.timeval)
	case "ts32", "tv32":
		return show(8, func(b []byte) {
			d.str("{tv_sec=").int(signed(u32(b, 0)))
			d.str(map[string]string{"ts32": ", tv_nsec=", "tv32": ", tv_usec="}[a.kind]).uint(u32(b, 4))
			d.str("}")
		})
	case "rem":
		if !d.interrupted() {
			d.ptr(v)
			return true
		}
		early = false
		return show(16, d.timespec)
	case "tss":
		return show(32, func(b []byte) {
			d.str("[")
			d.utime(b)
			d.str(", ")
			d.utime(b[16:])
			d.str("]")
		})
	case "tvs":
		return show(32, func(b []byte) {
			d.str("[").timeval(b)
			d.b = appendDate(d.b, int64(u64(b, 0)), u64(b, 8)*1000, 6)
			d.str(", ").timeval(b[16:])
			d.b = appendDate(d.b, int64(u64(b, 16)), u64(b, 24)*1000, 6)
			d.str("]")
		})
	case "its":
		return show(32, func(b []byte) { d.pair("it_interval", "it_value", b, d.timespec) })
	case "itv":
		return show(32, func(b []byte) { d.pair("it_interval", "it_value", b, d.timeval) })
	case "stat":
		size := 144
		if d.arch == "arm64" {
			size = 128
		}
		return show(size, d.stat)
	case "statx":
		return show(256, d.statx)
	case "statfs":
		return show(120, d.statfs)
	case "rusage":
		return show(144, d.rusage)
	case "rlim", "rlim64":
		return show(16, func(b []byte) {
			d.str("{rlim_cur=").rlimit(u64(b, 0), a.kind == "rlim64")
			d.str(", rlim_max=").rlimit(u64(b, 8), a.kind == "rlim64")
			d.str("}")
		})
	case "utsname":
		return show(390, d.utsname)
	case "sysinfo":
		return show(112, d.sysinfo)
	case "tms":
		return show(32, func(b []byte) {
			d.str("{tms_utime=").int(int64(u64(b, 0)))
			d.str(", tms_stime=").int(int64(u64(b, 8)))
			d.str(", tms_cutime=").int(int64(u64(b, 16)))
			d.str(", tms_cstime=").int(int64(u64(b, 24)))
			d.str("}")
		})
	case "fds":
		return show(8, func(b []byte) {
			d.str("[").fd(u32(b, 0), atExit)
			d.str(", ").fd(u32(b, 4), atExit)
			d.str("]")
		})
	case "intp", "uidp", "intlist":
		return show(4, func(b []byte) {
			d.str("[").int(signed(u32(b, 0)))
			d.str("]")
		})
	case "offp":
		return show(8, func(b []byte) {
			d.str("[").int(int64(u64(b, 0)))
			if now, ok := d.c.mem.whole(v, 8, false); ok && !d.c.failed() && !bytes.Equal(now, b) {
				d.str(" => ").int(int64(u64(now, 0)))
			}
			d.str("]")
		})
	case "gids", "gidsw":
		n := int(d.c.Result)
		if a.kind == "gidsw" {
			n = int(d.num(0))
		}
		d.groups(v, n)
	case "cwd":
		d.path(v, false)
	case "hexb":
		d.hexed(v, d.c.Result)
	case "wbx", "xlist":
		if d.num(i+1) == 0 || d.c.Result == 0 {
			d.ptr(v)
			return true
		}
		d.buffer(v, d.c.Result)
	case "argv":
		d.argv(v)
	case "env":
		d.env(v)
	case "dents", "dents64":
		d.dents(v, a.kind == "dents64")
	case "wstatus":
		if d.c.Result <= 0 {
			d.ptr(v)
			return true
		}
		return show(4, func(b []byte) {
			d.str("[").status(int(u32(b, 0)))
			d.str("]")
		})
	case "cpuset", "cpusetw":
		d.cpus(v, a.out)
	case "sigset":
		return show(8, func(b []byte) { d.sigset(u64(b, 0)) })
	case "psigset":
		return show(16, func(b []byte) {
			d.str("{sigmask=")
			if set, ok := d.c.mem.whole(u64(b, 0), 8, true); ok && u64(b, 0) != 0 {
				d.sigset(u64(set, 0))
			} else {
				d.ptr(u64(b, 0))
			}
			d.str(", sigsetsize=").uint(u64(b, 8))
			d.str("}")
		})
	case "sigact":
		return show(32, d.sigaction)
	case "stack":
		return show(24, func(b []byte) {
			d.str("{ss_sp=").ptr(u64(b, 0))
			d.str(", ss_flags=").flags("ss", u32(b, 8))
			d.str(", ss_size=").uint(u64(b, 16))
			d.str("}")
		})
	case "siginfo":
		if d.of.name == "waitid" && d.c.Result == 0 || d.of.name != "waitid" {
			return show(48, func(b []byte) { d.siginfo(b) })
		}
		d.ptr(v)
	case "epev":
		return show(d.epollSize(), d.epollEvent)
	case "epevs":
		d.epollEvents(v, int(d.c.Result))
	case "pollfds":
		d.pollfds(v, int(uint32(d.num(1))))
	case "fdset":
		d.fdset(v, int(int32(d.num(0))))
	case "openhow":
		return show(24, d.openHow)
	case "statx_at":
		const sync = 0x6000
		d.str([...]string{"AT_STATX_SYNC_AS_STAT", "AT_STATX_FORCE_SYNC", "AT_STATX_DONT_SYNC",
			"AT_STATX_SYNC_TYPE"}[v&sync>>13])
		if v &^= sync; uint32(v) != 0 {
			d.str("|").flags("at", uint64(uint32(v)))
		}
	case "sigev":
		return show(16, func(b []byte) {
			d.str("{")
			if u64(b, 0) != 0 {
				d.str("sigev_value={sival_int=").int(signed(u32(b, 0)))
				d.str(", sival_ptr=").ptr(u64(b, 0))
				d.str("}, ")
			}
			d.str("sigev_signo=").signal(int(int32(u32(b, 8))))
			d.str(", sigev_notify=").enum("sigev", u32(b, 12))
			d.str("}")
		})
	case "caphdr":
		return show(8, func(b []byte) {
			d.str("{version=").enum("capversion", u32(b, 0))
			d.str(", pid=").int(signed(u32(b, 4)))
			d.str("}")
		})
	case "capdata":
		return show(24, d.capabilities)
	case "personality":
		if uint32(v) == ^uint32(0) {
			d.str("0xffffffff")
		} else {
			d.enum("personality", uint64(uint32(v)))
		}
	default:
		return false
	}
	return true
}

// interrupted reports whether a call was cut short by a signal.
func (d *decoder) interrupted() bool {
	return d.c.Result == -516 || d.c.Result == -4 || d.c.Result == -514
}

func (d *decoder) pair(first, second string, b []byte, f func([]byte)) {
	d.str("{" + first + "=")
	f(b)
	d.str(", " + second + "=")
	f(b[16:])
	d.str("}")
}

func (d *decoder) timespec(b []byte) {
	d.str("{tv_sec=").int(int64(u64(b, 0)))
	d.str(", tv_nsec=").uint(u64(b, 8))
	d.str("}")
}

func (d *decoder) timeval(b []byte) {
	d.str("{tv_sec=").int(int64(u64(b, 0)))
	d.str(", tv_usec=").uint(u64(b, 8))
	d.str("}")
}

// utime is a time that utimensat sets.
func (d *decoder) utime(b []byte) {
	switch u64(b, 8) {
	case 0x3fffffff:
		d.str("UTIME_NOW")
	case 0x3ffffffe:
		d.str("UTIME_OMIT")
	default:
		d.timespec(b)
		d.b = appendDate(d.b, int64(u64(b, 0)), u64(b, 8), 9)
	}
}

// fileTypes are the kinds of files in a mode.
var fileTypes = [16]string{1: "S_IFIFO", 2: "S_IFCHR", 4: "S_IFDIR", 6: "S_IFBLK", 8: "S_IFREG", 10: "S_IFLNK",
	12: "S_IFSOCK"}

// mode appends a mode with the kind of file.
func (d *decoder) mode(v uint64) {
	if kind := fileTypes[v>>12&15]; kind != "" {
		d.str(kind + "|")
		v &= 0o7777
	}
	for _, bit := range []constant{{"S_ISUID", 0o4000}, {"S_ISGID", 0o2000}, {"S_ISVTX", 0o1000}} {
		if v&bit.value != 0 {
			d.str(bit.name + "|")
			v &^= bit.value
		}
	}
	d.octal(v)
}

func (d *decoder) device(v uint64) {
	d.str("makedev(").hex(v>>8&0xfff | v>>32&^0xfff)
	d.str(", ").hex(v&0xff | v>>12&0xffffff00)
	d.str(")")
}

// stat decodes struct stat, whose layout differs between architectures.
func (d *decoder) stat(b []byte) {
	mode, links, uid, rdev, size, blksize, blocks := u32(b, 24), u64(b, 16), 28, 40, 48, 56, 64
	if d.arch == "arm64" {
		mode, links, uid, rdev, size, blksize, blocks = u32(b, 16), u32(b, 20), 24, 32, 48, 56, 64
	}
	d.str("{")
	if d.o.Verbose {
		d.str("st_dev=").device(u64(b, 0))
		d.str(", st_ino=").hex(u64(b, 8))
		d.str(", ")
	}
	d.str("st_mode=").mode(mode)
	if d.o.Verbose {
		d.str(", st_nlink=").uint(links)
		d.str(", st_uid=").uint(u32(b, uid))
		d.str(", st_gid=").uint(u32(b, uid+4))
		d.str(", st_blksize=").uint(u32(b, blksize))
		d.str(", st_blocks=").uint(u64(b, blocks))
	}
	if kind := mode >> 12 & 15; kind == 2 || kind == 6 {
		d.str(", st_rdev=").device(u64(b, rdev))
	} else {
		d.str(", st_size=").uint(u64(b, size))
	}
	if !d.o.Verbose {
		d.str(", ...}")
		return
	}
	for i, name := range []string{"atime", "mtime", "ctime"} {
		at := 72 + 16*i
		d.str(", st_" + name + "=").int(int64(u64(b, at)))
		d.b = appendDate(d.b, int64(u64(b, at)), u64(b, at+8), 9)
		d.str(", st_" + name + "_nsec=").uint(u64(b, at+8))
	}
	d.str("}")
}

// statx decodes struct statx, which is the same everywhere.
func (d *decoder) statx(b []byte) {
	d.str("{stx_mask=").flags("statx", u32(b, 0))
	if d.o.Verbose {
		d.str(", stx_blksize=").uint(u32(b, 4))
	}
	d.str(", stx_attributes=").flags("statx_attr", u64(b, 8))
	if d.o.Verbose {
		d.str(", stx_nlink=").uint(u32(b, 16))
		d.str(", stx_uid=").uint(u32(b, 20))
		d.str(", stx_gid=").uint(u32(b, 24))
	}
	d.str(", stx_mode=").mode(u16(b, 28))
	if d.o.Verbose {
		d.str(", stx_ino=").uint(u64(b, 32))
	}
	d.str(", stx_size=").uint(u64(b, 40))
	if !d.o.Verbose {
		d.str(", ...}")
		return
	}
	d.str(", stx_blocks=").uint(u64(b, 48))
	d.str(", stx_attributes_mask=").flags("statx_attr", u64(b, 56))
	for i, name := range []string{"atime", "btime", "ctime", "mtime"} {
		at := 64 + 16*i
		d.str(", stx_" + name + "={tv_sec=").int(int64(u64(b, at)))
		d.str(", tv_nsec=").uint(u32(b, at+8))
		d.str("}")
		d.b = appendDate(d.b, int64(u64(b, at)), u32(b, at+8), 9)
	}
	for i, name := range []string{"rdev_major", "rdev_minor", "dev_major", "dev_minor"} {
		d.str(", stx_" + name + "=").uint(u32(b, 128+4*i))
	}
	d.str("}")
}

func (d *decoder) statfs(b []byte) {
	d.str("{f_type=").enum("fstype", u64(b, 0))
	for i, name := range []string{"bsize", "blocks", "bfree", "bavail", "files", "ffree"} {
		d.str(", f_" + name + "=").uint(u64(b, 8+8*i))
	}
	d.str(", f_fsid={val=[").hex(u32(b, 56))
	d.str(", ").hex(u32(b, 60))
	d.str("]}, f_namelen=").uint(u64(b, 64))
	d.str(", f_frsize=").uint(u64(b, 72))
	d.str(", f_flags=").flags("st", u64(b, 80))
	d.str("}")
}

// rusage decodes struct rusage.
func (d *decoder) rusage(b []byte) {
	d.str("{ru_utime=").timeval(b)
	d.str(", ru_stime=").timeval(b[16:])
	if !d.o.Verbose {
		d.str(", ...}")
		return
	}
	for i, name := range []string{"maxrss", "ixrss", "idrss", "isrss", "minflt", "majflt", "nswap", "inblock",
		"oublock", "msgsnd", "msgrcv", "nsignals",
		"nvcsw", "nivcsw"} {
		d.str(", ru_" + name + "=").uint(u64(b, 32+8*i))
	}
	d.str("}")
}

func (d *decoder) rlimit(v uint64, is64 bool) {
	switch {
	case v == ^uint64(0) && is64:
		d.str("RLIM64_INFINITY")
	case v == ^uint64(0):
		d.str("RLIM_INFINITY")
	case v > 1024 && v%1024 == 0:
		d.uint(v / 1024)
		d.str("*1024")
	default:
		d.uint(v)
	}
}

func (d *decoder) utsname(b []byte) {
	for i, name := range []string{"{sysname", ", nodename", ", release", ", version", ", machine", ", domainname"} {
		if i == 2 && !d.o.Verbose {
			d.str(", ...")
			break
		}
		d.str(name + "=")
		s, _, _ := bytes.Cut(b[65*i:65*i+65], []byte{0})
		d.quote(s)
	}
	d.str("}")
}

// sysinfo decodes struct sysinfo.
func (d *decoder) sysinfo(b []byte) {
	d.str("{uptime=").uint(u64(b, 0))
	d.str(", loads=[")
	for i := range 3 {
		if i > 0 {
			d.str(", ")
		}
		d.uint(u64(b, 8+8*i))
	}
	d.str("]")
	for i, name := range []string{"totalram", "freeram", "sharedram", "bufferram", "totalswap", "freeswap"} {
		d.str(", " + name + "=").uint(u64(b, 32+8*i))
	}
	d.str(", procs=").uint(u16(b, 80))
	d.str(", totalhigh=").uint(u64(b, 88))
	d.str(", freehigh=").uint(u64(b, 96))
	d.str(", mem_unit=").uint(u32(b, 104))
	d.str("}")
}

func (d *decoder) openHow(b []byte) {
	d.str("{flags=").openFlags(u64(b, 0))
	if u64(b, 0)&d.creates() != 0 || u64(b, 8) != 0 {
		d.str(", mode=").octal(u64(b, 8))
	}
	d.str(", resolve=").flags("resolve", u64(b, 16))
	d.str("}")
}
