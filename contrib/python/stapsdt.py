"""Marks that tracers can attach to, declared by a running Python program.

    import stapsdt

    provider = stapsdt.Provider("simplehttp")
    transfer = provider.add_probe(
        "file_transfer", stapsdt.ArgTypes.uint64, stapsdt.ArgTypes.uint64, stapsdt.ArgTypes.int32)
    provider.load()

    transfer.fire("10.0.0.7", "/index.html", 4096)

Any tracer that knows USDT finds them: hawk -p PID -e 'usdt:*:simplehttp:file_transfer { printf("%s\\n", str(arg0)) }'

One file, nothing but the standard library, Python 3.8 or newer, Linux on x86-64 and arm64; on other systems
load raises OSError. The interface is that of the package python-stapsdt. The file that is mapped is the one
that the Go package usdt makes, byte for byte.
"""

import ctypes
import errno
import fcntl
import hashlib
import os
import platform
import re
import stat
import struct
import threading
import time

__all__ = ["ArgTypes", "Probe", "Provider"]


class ArgTypes:
    """Sizes in bytes of arguments, negative with a sign. Texts are uint64, the address of their bytes."""

    noarg = 0
    uint8, int8 = 1, -1
    uint16, int16 = 2, -2
    uint32, int32 = 4, -4
    uint64, int64 = 8, -8


_SIZES = (1, -1, 2, -2, 4, -4, 8, -8)
_MAX_ARGS = 12
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,99}\Z", re.ASCII)


class _X86:
    machine, page, probed, in_c = 62, 1 << 12, 8, 6
    registers = ["%rdi", "%rsi", "%rdx", "%rcx", "%r8", "%r9", "%r10", "%r11", "%r12", "%r13", "%rax", "%rbx"]
    # endbr64; push %rbp; mov %rsp, %rbp; nop; nop of five bytes; pop %rbp; ret
    function = bytes.fromhex("f30f1efa" "55" "4889e5" "90" "0f1f440000" "5d" "c3")
    filler = b"\xcc"  # int3
    mmap, mprotect, mremap, memfd_create = 9, 10, 25, 319

    @staticmethod
    def entry(words, back):
        """Takes words as C passes them, puts those beyond six into the registers of the mark and calls it.

        The mark lies back bytes before."""
        # endbr64; push %rbp; mov %rsp, %rbp; push %rbx, %r12, %r13, %rax
        code = bytes.fromhex("f30f1efa" "55" "4889e5" "53" "4154" "4155" "50")
        loads = ["4c8b5510", "4c8b5d18", "4c8b6520", "4c8b6d28", "488b4530", "488b5d38"]  # mov 16(%rbp), %r10 and so on
        code += bytes.fromhex("".join(loads[: words - 6]))
        code += b"\xe8" + struct.pack("<i", -(back + len(code) + 5))
        return code + bytes.fromhex("415d" "415d" "415c" "5b" "5d" "c3")


class _ARM:
    machine, page, probed, in_c = 183, 1 << 16, 12, 8
    registers = ["x%d" % n for n in range(_MAX_ARGS)]
    # bti c; stp x29, x30, [sp, -16]!; mov x29, sp; nop; ldp x29, x30, [sp], 16; ret
    function = struct.pack("<6I", 0xD503245F, 0xA9BF7BFD, 0x910003FD, 0xD503201F, 0xA8C17BFD, 0xD65F03C0)
    filler = struct.pack("<I", 0xD4200000)  # brk 0
    mmap, mprotect, mremap, memfd_create = 222, 226, 216, 279

    @staticmethod
    def entry(words, back):
        code = struct.pack("<3I", 0xD503245F, 0xA9BF7BFD, 0x910003FD)
        for i in range(words - 8):  # ldr x8, [x29, 16] and so on
            code += struct.pack("<I", 0xF94003A0 | (2 + i) << 10 | (8 + i))
        distance = -((back + len(code)) // 4)
        code += struct.pack("<I", 0x94000000 | distance & 0x03FFFFFF)  # bl
        return code + struct.pack("<2I", 0xA8C17BFD, 0xD65F03C0)


_ISAS = {"x86_64": _X86, "amd64": _X86, "aarch64": _ARM, "arm64": _ARM}


def _pad(data, n, filler=b"\0"):
    return data + filler * (-len(data) % n // len(filler))


def _note(name, kind, desc):
    return _pad(_pad(struct.pack("<3I", len(name) + 1, len(desc), kind) + name + b"\0", 4) + desc, 4)


class _Image:
    """The ELF file of a provider: headers and build ID, code, semaphores, and what is not mapped."""

    def __init__(self, isa, provider, probes):
        code, self.functions, self.entries = b"", [], []
        for _, args in probes:
            code = _pad(code, 16, isa.filler)
            start = len(code)
            self.functions.append(isa.page + start)
            code += isa.function
            if len(args) > isa.in_c:
                code = _pad(code, 16, isa.filler)
                self.entries.append(isa.page + len(code))
                code += isa.entry(len(args), len(code) - start)
            else:
                self.entries.append(isa.page + start)
        text = len(code)
        code = _pad(code, isa.page, isa.filler)
        self.code = (isa.page, len(code))
        self.counters = (isa.page + len(code), (2 * len(probes) + isa.page - 1) // isa.page * isa.page)

        build_id, note_size = 64 + 5 * 56, 12 + 4 + 20
        base = build_id + note_size
        notes, symbols, names = b"", bytes(24), b"\0"
        for i, (name, args) in enumerate(probes):
            operands = " ".join("%d@%s" % (a, r) for a, r in zip(args, isa.registers))
            desc = struct.pack("<3Q", self.functions[i] + isa.probed, base, self.counters[0] + 2 * i)
            desc += b"".join(s.encode() + b"\0" for s in (provider, name, operands))
            notes += _note(b"stapsdt", 3, desc)
            places = [(self.functions[i], len(isa.function), "")]
            if self.entries[i] != self.functions[i]:
                places.append((self.entries[i], len(isa.entry(len(args), 0)), ".entry"))
            for at, size, suffix in places:
                symbols += struct.pack("<IBBHQQ", len(names), 1 << 4 | 2, 0, 3, at, size)
                names += ("%s:%s%s" % (provider, name, suffix)).encode() + b"\0"

        sections, strings = [], b""
        out = bytes(isa.page) + code + bytes(self.counters[1])

        def section(name, kind=0, flags=0, offset=0, size=0, align=0, link=0, info=0, entry=0):
            nonlocal strings
            addr = offset if flags & 2 else 0
            sections.append(struct.pack(
                "<2I4Q2I2Q", len(strings), kind, flags, addr, offset, size, link, info, align, entry))
            strings += name + b"\0"

        def append(data, align):
            nonlocal out
            out = _pad(out, align)
            out += data
            return len(out) - len(data)

        section(b"")
        section(b".note.gnu.build-id", 7, 2, build_id, note_size, 4)
        section(b".stapsdt.base", 1, 2, base, 1, 1)
        section(b".text", 1, 2 | 4, isa.page, text, 16)
        section(b".probes", 1, 2 | 1, self.counters[0], 2 * len(probes), 2)
        section(b".note.stapsdt", 7, 0, append(notes, 4), len(notes), 4)
        section(b".dynsym", 11, 0, append(symbols, 8), len(symbols), 8, 7, 1, 24)
        section(b".dynstr", 3, 0, append(names, 1), len(names), 1)
        last = b".shstrtab\0"
        section(last[:-1], 3, 0, append(strings + last, 1), len(strings + last), 1)
        table = append(b"", 8)
        out += b"".join(sections)

        segments = [
            (1, 4, 0, base + 1, isa.page),
            (1, 4 | 1, isa.page, len(code), isa.page),
            (1, 4 | 2, self.counters[0], self.counters[1], isa.page),
            (4, 4, build_id, note_size, 4),
            (0x6474E551, 4 | 2, 0, 0, 16),
        ]
        head = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
        head += struct.pack(
            "<2HI3QI6H", 3, isa.machine, 1, 0, 64, table, 0, 64, 56, len(segments), 64,
            len(sections), len(sections) - 1)
        for kind, flags, offset, size, align in segments:
            head += struct.pack("<2I6Q", kind, flags, offset, offset, offset, size, size, align)
        head += _note(b"GNU", 3, _sha1(code[:text] + notes).digest())
        self.bytes = head + out[len(head):]
        self.name = "%s-%s.so" % (provider, _sha1(self.bytes).hexdigest()[:12])


def _sha1(data):
    try:
        return hashlib.sha1(data, usedforsecurity=False)
    except TypeError:  # before Python 3.9
        return hashlib.sha1(data)


def _directories():
    """Where the file may be, in the order in which it is tried, and whether a directory is made there."""
    if os.environ.get("USDT_DIR"):
        yield os.environ["USDT_DIR"], False
    if os.environ.get("XDG_RUNTIME_DIR"):
        yield os.path.join(os.environ["XDG_RUNTIME_DIR"], "usdt"), True
    yield os.path.join(os.environ.get("TMPDIR") or "/tmp", "usdt-%d" % os.geteuid()), True


def _own(fd, is_type):
    """Makes sure that something is of this user alone."""
    st = os.fstat(fd)
    if not is_type(st.st_mode) or st.st_uid != os.geteuid() or st.st_mode & 0o022 or st.st_nlink == 0:
        raise OSError(errno.EPERM, "not of this user alone")


def _find(directory, image):
    """Opens the file, makes sure that it is what it should be, and takes the lock that says that it is in use."""
    fd = os.open(image.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
    try:
        _own(fd, stat.S_ISREG)
        with open(os.dup(fd), "rb") as f:
            if f.read(len(image.bytes) + 1) != image.bytes:
                raise OSError(errno.EPERM, "another content")
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError:
            pass  # no locks here: nobody removes the file either
        try:
            os.utime(fd)
        except OSError:
            pass  # a file system that is read-only
        _own(fd, stat.S_ISREG)
        return fd
    except BaseException:
        os.close(fd)
        raise


def _create(directory, image):
    tmp = ".%s.%d.%d" % (image.name, os.getpid(), time.time_ns())
    fd = os.open(tmp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=directory)
    try:
        with open(fd, "wb") as f:
            f.write(image.bytes)
            f.flush()
            os.fchmod(fd, 0o555)
        os.rename(tmp, image.name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        os.unlink(tmp, dir_fd=directory)
        raise


def _store(path, make, image):
    path = os.path.abspath(path)
    if make:
        try:
            os.mkdir(path, 0o755)
        except OSError:
            pass  # opening tells
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        _own(directory, stat.S_ISDIR)
        try:
            return _find(directory, image), os.path.join(path, image.name)
        except FileNotFoundError:
            _create(directory, image)
            return _find(directory, image), os.path.join(path, image.name)
    finally:
        os.close(directory)


_libc = ctypes.CDLL(None, use_errno=True)
_syscall = _libc.syscall
_syscall.restype = ctypes.c_long


def _call(number, *args):
    result = _syscall(ctypes.c_long(number), *[a if isinstance(a, bytes) else ctypes.c_long(a) for a in args])
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


_READ, _WRITE, _EXEC = 1, 2, 4
_PRIVATE, _FIXED, _ANONYMOUS = 2, 0x10, 0x20


class Probe:
    """A mark of a provider; Provider.add_probe makes it.

    count is a memoryview of one number, how many tracers are attached: the fastest test is `if probe.count[0]:`.
    """

    def __init__(self, name, args):
        self.name, self.args = name, args
        self.count = memoryview(bytes(2)).cast("H")  # after load, the counter of the kernel
        self._function = None

    @property
    def is_enabled(self):
        """Whether a tracer is attached."""
        return self.count[0] != 0

    def fire(self, *args):
        """Hits the mark if a tracer is attached, and returns whether one is.

        Texts and bytes end in NUL for the tracer; what is left out is 0, as is None and what else is no number:
        that it is traced is no reason for a program to fail."""
        if not self.count[0]:
            return False
        words, kept = [], []
        for a in args[: len(self.args)]:
            if isinstance(a, str):
                try:
                    a = a.encode("utf-8", "surrogateescape")
                except UnicodeEncodeError:
                    a = a.encode("utf-8", "replace")
            if isinstance(a, (bytes, bytearray, memoryview)):
                kept.append(ctypes.create_string_buffer(bytes(a)))
                a = ctypes.addressof(kept[-1])
            try:
                words.append(int(a or 0) & 0xFFFFFFFFFFFFFFFF)
            except (TypeError, ValueError, OverflowError):
                words.append(0)
        words += [0] * (len(self.args) - len(words))
        self._function(*words)
        return True


class Provider:
    """A group of marks that are loaded together."""

    def __init__(self, name):
        _check(name)
        self.name, self.path = name, None
        self._probes, self._loaded, self._lock = [], False, threading.Lock()

    def add_probe(self, name, *args):
        """Declares a mark with arguments of ArgTypes, at most twelve, and returns it."""
        _check(name)
        args = tuple(a for a in args if a != ArgTypes.noarg)
        if len(args) > _MAX_ARGS or any(a not in _SIZES for a in args):
            raise ValueError("%s: arguments are at most %d of ArgTypes" % (name, _MAX_ARGS))
        with self._lock:
            if self._loaded:
                raise ValueError("%s:%s comes after load: it needs a second provider" % (self.name, name))
            if any(p.name == name for p in self._probes):
                raise ValueError("%s:%s is declared twice" % (self.name, name))
            self._probes.append(Probe(name, args))
            return self._probes[-1]

    def load(self):
        """Makes the marks visible to tracers. OSError says why that failed; marks then never fire."""
        with self._lock:
            if self._loaded:
                return True
            isa = _ISAS.get(platform.machine())
            if isa is None or platform.system() != "Linux" or struct.calcsize("P") != 8:
                raise OSError(errno.ENOTSUP, "no marks on this system")
            if not self._probes:
                raise ValueError("%s has no marks" % self.name)
            image = _Image(isa, self.name, [(p.name, p.args) for p in self._probes])
            fd, base, path = _place(isa, self.name, image)
            self._fd, self._base, self._image, self._isa = fd, base, image, isa
            self.path, self._loaded = path, True
            counters = (ctypes.c_uint16 * len(self._probes)).from_address(base + image.counters[0])
            view = memoryview(counters).cast("B").cast("H")
            for i, p in enumerate(self._probes):
                # The interpreter's lock is kept: a call of a mark does not wait.
                p._function = ctypes.PYFUNCTYPE(None, *[ctypes.c_uint64] * len(p.args))(base + image.entries[i])
                p.count = view[i : i + 1]
            return True

    def unload(self):
        """Takes the marks away from tracers. They never fire from then on; a few pages of memory stay."""
        with self._lock:
            if not self._loaded or self.path is None:
                return False
            code, image = self._image.code, self._image.bytes
            _replace(self._isa, self._base, self._image.counters, b"", _READ | _WRITE)
            _replace(self._isa, self._base, code, image[code[0] : code[0] + code[1]], _READ | _EXEC)
            _replace(self._isa, self._base, (0, code[0]), b"", 0)
            os.close(self._fd)
            self.path = None
            return True


def _check(name):
    if not isinstance(name, str) or not _NAME.match(name):
        raise ValueError("%r: a name is 1 to 100 letters, digits, _, - and ., and begins with a letter or _" % (name,))


def _place(isa, provider, image):
    """Finds a place for the file and maps it: in a directory of this user, else in memory only."""
    for path, make in _directories():
        try:
            fd, path = _store(path, make, image)
        except OSError:
            continue
        try:
            return fd, _map(isa, fd, image), path
        except OSError:
            os.close(fd)
    name = ("usdt:" + provider).encode()
    try:  # newer kernels want to be told that the file is to be executed, older ones do not know how
        fd = _call(isa.memfd_create, name, 1 | 0x10)
    except OSError:
        fd = _call(isa.memfd_create, name, 1)
    try:
        with open(os.dup(fd), "wb") as f:
            f.write(image.bytes)
        return fd, _map(isa, fd, image), "/proc/%d/fd/%d" % (os.getpid(), fd)
    except BaseException:
        os.close(fd)
        raise


def _map(isa, fd, image):
    """The kernel puts probes into private executable mappings and counts tracers in private writable ones."""
    base = _call(isa.mmap, 0, sum(image.counters), _READ, _PRIVATE, fd, 0)
    for (offset, size), access in ((image.code, _READ | _EXEC), (image.counters, _READ | _WRITE)):
        _call(isa.mmap, base + offset, size, access, _PRIVATE | _FIXED, fd, offset)
    return base


def _replace(isa, base, part, content, access):
    """Puts anonymous memory in place of a part of the file by one system call, so that threads inside go on."""
    offset, size = part
    at = _call(isa.mmap, 0, size, _READ | _WRITE, _PRIVATE | _ANONYMOUS, -1, 0)
    ctypes.memmove(at, content, len(content))
    _call(isa.mprotect, at, size, access)
    _call(isa.mremap, at, size, size, 1 | 2, base + offset)
