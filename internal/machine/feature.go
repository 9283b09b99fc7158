package machine

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/btf"
)

// A Feature is something that not every kernel can do. It is found out by
// trying, never by the kernel's version, as configurations and backports make
// tables of versions wrong; but for PreemptedTracepoints, which no answer shows.
type Feature struct {
	Name  string // as --info, --no-feature and recordings spell it
	What  string // in words, for messages
	Since string // first kernel, "5.8"

	test func(t *Machine) error // nil: has it
}

// Unsupported says that the kernel cannot do what a script needs.
type Unsupported struct {
	Feature *Feature
	Err     error // what the kernel said
}

// Error names the version that has the feature, unless it is privileges that are missing.
func (e *Unsupported) Error() string {
	if isPermission(e.Err) {
		return fmt.Sprintf("%s: the kernel does not permit it here: %v", e.Feature.What, e.Err)
	}
	return fmt.Sprintf("%s: needs Linux %s or newer with it configured: %v", e.Feature.What, e.Feature.Since, e.Err)
}

func (e *Unsupported) Unwrap() error { return e.Err }

// errNotRecorded is why a recorded machine lacks a feature.
var errNotRecorded = errors.New("not recorded")

// Has reports whether the kernel has a feature: nil, or an *Unsupported. The kernel is asked once.
// Two goroutines may ask at once and both try; the answers are the same, and the lock is not held
// while the kernel is at work.
func (t *Machine) Has(f *Feature) error {
	t.mu.Lock()
	err, known := t.features[f]
	t.mu.Unlock()
	if known {
		return err
	}
	if t.Live() {
		err = f.test(t)
	} else {
		err = t.recordedFeature(f)
	}
	if err == nil && t.ledger != nil {
		// A program that is compiled for many machines may count only on features of all of them.
		err = t.ledger.feature(f)
	}
	if err != nil {
		err = &Unsupported{f, err}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.features == nil {
		t.features = make(map[*Feature]error)
	}
	t.features[f] = err
	return err
}

// recordedFeature looks the feature up in the file features of a recorded machine.
func (t *Machine) recordedFeature(f *Feature) error {
	set, err := t.recorded.get(func() (map[string]bool, error) {
		data, err := t.read(recordedFeatures)
		if errors.Is(err, os.ErrNotExist) {
			return nil, nil
		}
		set := make(map[string]bool)
		for _, name := range strings.Fields(string(data)) {
			set[name] = true
		}
		return set, err
	})
	if err == nil && set != nil && !set[f.Name] {
		err = errNotRecorded
	}
	return err
}

// OldValue is how many bytes a value of a map has at most on older kernels: what kmalloc gives
// (array_map_alloc_check in kernel/bpf/arraymap.c).
const OldValue = 4 << 20

// The features of kernels from 5.10 on that hawk can make use of or do
// without.
var (
	RingBuffer = &Feature{"ring_buffer", "the BPF ring buffer", "5.8", func(*Machine) error {
		return mapAccepted(bpf.MapSpec{Type: bpf.RingBuf, MaxEntries: os.Getpagesize()})
	}}
	LargeKey = &Feature{"large_key", "map keys of more than 512 bytes", "5.11", func(*Machine) error {
		return mapAccepted(bpf.MapSpec{Type: bpf.Hash, KeySize: 1024, ValueSize: 8, MaxEntries: 1,
			Flags: bpf.NoPrealloc})
	}}
	LargeValue = &Feature{"large_value", "map values of more than 4 MB", "6.0", func(*Machine) error {
		return mapAccepted(bpf.MapSpec{Type: bpf.Array, KeySize: 4, ValueSize: OldValue + 8, MaxEntries: 1})
	}}

	BPFLoop    = helper("loop", "loops by bpf_loop", "5.17", asm.FnLoop, bpf.RawTracepoint)
	TaskPtRegs = helper("task_pt_regs", "user registers of the current task", "5.15", asm.FnTaskPtRegs,
		bpf.RawTracepoint)
	ForEachMapElem = helper("for_each_map_elem", "iteration over maps in the kernel", "5.13", asm.FnForEachMapElem,
		bpf.RawTracepoint)
	TaskBTF = helper("task_btf", "typed access to the current task", "5.11", asm.FnGetCurrentTaskBtf,
		bpf.RawTracepoint)
	KtimeBoot = helper("ktime_boot", "the boot clock", "5.8", asm.FnKtimeGetBootNs, bpf.RawTracepoint)
	KtimeTAI  = helper("ktime_tai", "the TAI clock", "6.1", asm.FnKtimeGetTaiNs, bpf.RawTracepoint)
	Snprintf  = helper("snprintf_sym", "naming of kernel addresses by the kernel", "5.13", asm.FnSnprintf,
		bpf.RawTracepoint)
	Strncmp = helper("strncmp", "comparison of strings by the kernel", "5.17", asm.FnStrncmp,
		bpf.RawTracepoint)
	MapLookupPerCPU = helper("map_lookup_percpu", "access to other CPUs' map values", "5.19",
		asm.FnMapLookupPercpuElem, bpf.RawTracepoint)
	TaskStorage   = helper("task_storage", "storage at tasks", "5.11", asm.FnTaskStorageGet, bpf.RawTracepoint)
	GetStackID    = helper("get_stackid", "stack IDs", "4.6", asm.FnGetStackid, bpf.Tracepoint)
	GetTaskStack  = helper("get_task_stack", "stacks of other tasks", "5.9", asm.FnGetTaskStack, bpf.RawTracepoint)
	NamespacedPID = helper("ns_pid", "process IDs of hawk's PID namespace", "5.7", asm.FnGetNsCurrentPidTgid,
		bpf.Kprobe)
	SendSignal       = helper("send_signal", "sending signals", "5.3", asm.FnSendSignal, bpf.Kprobe)
	SendSignalThread = helper("send_signal_thread", "sending signals to threads", "5.6", asm.FnSendSignalThread,
		bpf.Kprobe)
	SocketCookie = &Feature{"socket_cookie", "cookies of sockets", "5.12", tracingHelper(asm.FnGetSocketCookie)}
	SkbOutput    = &Feature{"skb_output", "packets as records", "5.5", tracingHelper(asm.FnSkbOutput)}
	Override     = helper("override_return", "override() (CONFIG_BPF_KPROBE_OVERRIDE)", "4.16",
		asm.FnOverrideReturn, bpf.Kprobe)
	WriteUser    = helper("probe_write_user", "writing to user memory", "4.8", asm.FnProbeWriteUser, bpf.Kprobe)
	GetFuncIP    = helper("get_func_ip", "the address of the probed function", "5.15", asm.FnGetFuncIp, bpf.Kprobe)
	KprobeCookie = helper("kprobe_cookie", "cookies of kprobes and uprobes", "5.15", asm.FnGetAttachCookie,
		bpf.Kprobe)
	TraceCookie = helper("tracepoint_cookie", "cookies of tracepoints", "5.15", asm.FnGetAttachCookie,
		bpf.Tracepoint)
	PerfEventCookie = helper("perf_event_cookie", "cookies of perf events", "5.15", asm.FnGetAttachCookie,
		bpf.PerfEvent)
	RawTPCookie = helper("raw_tp_cookie", "cookies of raw tracepoints", "6.10", asm.FnGetAttachCookie,
		bpf.RawTracepoint)
	FindVMA        = helper("find_vma", "look-up of memory mappings", "5.17", asm.FnFindVma, bpf.RawTracepoint)
	AncestorCgroup = helper("ancestor_cgroup", "tests for control groups and what is below them", "5.15",
		asm.FnGetCurrentAncestorCgroupId, bpf.RawTracepoint)
	CgroupID = helper("cgroup_id", "the current control group", "4.18",
		asm.FnGetCurrentCgroupId, bpf.RawTracepoint)

	AtomicFetch = &Feature{"atomic_fetch", "atomic operations that return a value", "5.12", func(*Machine) error {
		// r1 = 1; fetch_add *(u64 *)(r10-8), r1
		return accepted(&bpf.ProgSpec{Type: bpf.RawTracepoint}, bpf.ClearStack(-8), bpf.MovImm(1, 1),
			bpf.Insn(0xdb, 10, 1, -8, 1), bpf.MovImm(0, 0), bpf.Exit())
	}}
	CPUv4 = &Feature{"cpu_v4", "signed division and sign-extending moves", "6.6", func(*Machine) error {
		// r0 = 4; r0 s/= 2; r0 = (s8)r0; r0 = 0
		return accepted(&bpf.ProgSpec{Type: bpf.RawTracepoint}, bpf.MovImm(0, 4), bpf.Insn(0x37, 0, 0, 1, 2),
			bpf.Insn(0xbf, 0, 0, 8, 0), bpf.MovImm(0, 0), bpf.Exit())
	}}
	MayGoto = &Feature{"may_goto", "loops bounded at run time", "6.9", func(*Machine) error {
		return accepted(&bpf.ProgSpec{Type: bpf.RawTracepoint}, bpf.MovImm(0, 0), bpf.Insn(0xe5, 0, 0, 1, 0),
			bpf.MovImm(0, 0), bpf.Exit())
	}}
	NoPreallocPerf = &Feature{"no_prealloc_perf", "maps without preallocation in perf events", "6.1",
		func(*Machine) error {
			return acceptedWithHash(&bpf.ProgSpec{Type: bpf.PerfEvent}, bpf.MovImm(0, 0), bpf.Exit())
		}}
	SleepableUprobe = &Feature{"sleepable_uprobe", "fetching of pages by uprobes", "6.1", func(*Machine) error {
		return acceptedWithHash(&bpf.ProgSpec{Type: bpf.Kprobe, Flags: bpf.Sleepable}, bpf.MovReg(1, 10),
			bpf.AddImm(1, -8), bpf.MovImm(2, 1), bpf.MovImm(3, 0),
			bpf.CallHelper(asm.FnCopyFromUser), bpf.MovImm(0, 0), bpf.Exit())
	}}
	TypedRawTracepoint = &Feature{"btf_raw_tracepoint", "typed raw tracepoints", "5.5",
		acceptedEmpty(typedRawTracepoint)}
	// PrivateStack is stacks of programs in place of that of the task, one on each CPU.
	PrivateStack = &Feature{"private_stack", "stacks of programs by CPU", "6.13", func(*Machine) error {
		// Two frames of 400 bytes are too much for any other one.
		return accepted(&bpf.ProgSpec{Type: bpf.Kprobe}, bpf.ClearStack(-400), bpf.Insn(0x85, 0, 1, 0, 2),
			bpf.MovImm(0, 0), bpf.Exit(), bpf.ClearStack(-400), bpf.MovImm(0, 0), bpf.Exit())
	}}
	// PreemptedTracepoints is how tracepoints came to behave, rather than something to use: a program on a raw
	// one may be preempted, and the kernel skips the events of other tasks on that CPU until it goes on. Perf
	// events of tracepoints are not preempted, but for those of single system calls.
	PreemptedTracepoints = &Feature{"preempted_tracepoints", "raw tracepoints that are preempted", "7.0",
		func(t *Machine) error {
			major, _, _ := strings.Cut(t.Release(), ".")
			if n, err := strconv.Atoi(major); err != nil || n < 7 {
				return errors.New("this kernel is older")
			}
			return nil
		}}
	Fentry    = &Feature{"fentry", "fentry and fexit probes", "5.5", acceptedEmpty(fentrySpec)}
	KprobePMU = &Feature{"kprobe", "kprobes", "4.17", pmuTest("kprobe")}
	UprobePMU = &Feature{"uprobe", "uprobes", "4.17", pmuTest("uprobe")}
	UprobeRef = &Feature{"uprobe_refcnt", "semaphores of USDT probes", "4.20", func(t *Machine) error {
		return t.stat(eventSources + "uprobe/format/ref_ctr_offset")
	}}
	PerfClock = &Feature{"perf_clock", "perf events of the clock on a CPU", "4.9", func(t *Machine) error {
		cpus, err := t.OnlineCPUs()
		if err != nil {
			return err
		}
		attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK, Sample: 1e9,
			Bits: unix.PerfBitDisabled}
		fd, err := bpf.PerfEventOpen(nil, &attr, "", -1, cpus[0])
		if err == nil {
			unix.Close(fd)
		}
		return err
	}}
	PerfLink = &Feature{"perf_link", "links to perf events", "5.15", func(*Machine) error {
		return linkAnswers(bpf.Tracepoint, 0, unix.EBADF, func(prog int) (int, error) {
			return bpf.LinkPerfEvent(-1, prog, 0)
		})
	}}
	KprobeMulti = &Feature{"kprobe_multi", "kprobes on many functions at once", "5.18",
		kprobeMultiTest(bpf.AttachKprobeMulti)}
	KprobeSession = &Feature{"kprobe_session", "probes on entry and return in one", "6.10",
		kprobeMultiTest(bpf.AttachKprobeSession)}
	UprobeMulti = &Feature{"uprobe_multi", "uprobes at many places at once", "6.6", func(*Machine) error {
		// A directory is refused as late as possible, if the kernel knows
		// what is meant at all.
		m := bpf.UprobeMulti{Path: "/", Offsets: []uint64{0}}
		return linkAnswers(bpf.Kprobe, bpf.AttachUprobeMulti, unix.EBADF, func(prog int) (int, error) {
			return m.Link(nil, prog)
		})
	}}
)

// Features lists all named features in the order of --info.
func Features() []*Feature {
	return []*Feature{
		RingBuffer, LargeKey, LargeValue, BPFLoop, ForEachMapElem, TaskBTF, TaskPtRegs, KtimeBoot, KtimeTAI,
		Snprintf, Strncmp,
		MapLookupPerCPU, TaskStorage, GetStackID, GetTaskStack, NamespacedPID, SendSignal, SendSignalThread,
		SocketCookie, SkbOutput, Override, WriteUser, GetFuncIP,
		KprobeCookie, TraceCookie, PerfEventCookie, RawTPCookie, FindVMA, CgroupID, AncestorCgroup,
		AtomicFetch, CPUv4, MayGoto,
		NoPreallocPerf, SleepableUprobe, TypedRawTracepoint,
		PrivateStack, PreemptedTracepoints, Fentry, KprobePMU, UprobePMU, UprobeRef, PerfClock,
		PerfLink, KprobeMulti,
		KprobeSession, UprobeMulti,
	}
}

// mapAccepted reports whether the kernel makes a map.
func mapAccepted(spec bpf.MapSpec) error {
	fd, err := bpf.MapCreate(spec)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// accepted reports whether the kernel takes a program, which it does not keep.
func accepted(spec *bpf.ProgSpec, insns ...uint64) error {
	spec.License, spec.Insns = "GPL", bpf.Assemble(insns...)
	fd, err := bpf.ProgLoad(spec)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// acceptedEmpty tests whether the kernel takes a program that does nothing.
func acceptedEmpty(spec func(*Machine) (*bpf.ProgSpec, error)) func(*Machine) error {
	return func(t *Machine) error {
		spec, err := spec(t)
		if err != nil {
			return err
		}
		return accepted(spec, bpf.MovImm(0, 0), bpf.Exit())
	}
}

// acceptedWithHash is accepted for a program that first looks something up in a
// hash map without preallocation; a zero is left at the top of the stack.
func acceptedWithHash(spec *bpf.ProgSpec, rest ...uint64) error {
	fd, err := bpf.MapCreate(bpf.MapSpec{Type: bpf.Hash, KeySize: 8, ValueSize: 8, MaxEntries: 1,
		Flags: bpf.NoPrealloc})
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return accepted(spec, slices.Concat(
		[]uint64{bpf.ClearStack(-8), bpf.MovReg(2, 10), bpf.AddImm(2, -8)},
		bpf.LoadMap(1, fd), []uint64{bpf.CallHelper(asm.FnMapLookupElem)}, rest)...)
}

// helper is the feature that programs of a type can call a helper. The test
// calls it with arguments that may well be refused; only the verifier's words
// on the helper itself count.
func helper(name, what, since string, fn asm.BuiltinFunc, progType bpf.ProgramType) *Feature {
	return &Feature{name, what, since, func(*Machine) error {
		return helperKnown(&bpf.ProgSpec{Type: progType}, fn)
	}}
}

// helperKnown loads a program that calls a helper and looks at what the
// verifier minds.
func helperKnown(spec *bpf.ProgSpec, fn asm.BuiltinFunc) error {
	spec.LogLevel, spec.Log = 1, make([]byte, 8<<10)
	err := accepted(spec, bpf.MovImm(1, 0), bpf.MovImm(2, 0), bpf.MovImm(3, 0), bpf.MovImm(4, 0), bpf.MovImm(5, 0),
		bpf.CallHelper(fn), bpf.MovImm(0, 0), bpf.Exit())
	if err == nil {
		return nil
	}
	if errors.Is(err, unix.EPERM) {
		return err
	}
	log := unix.ByteSliceToString(spec.Log)
	for _, words := range [...]string{"unknown func", "invalid func", "cannot use helper", "not allowed"} {
		if strings.Contains(log, words) {
			return err
		}
	}
	// Nothing was said: the program did not come as far as the verifier.
	if log == "" {
		return err
	}
	return nil
}

// pmuTest tests for a dynamic event source, by its directory in sysfs.
func pmuTest(name string) func(*Machine) error {
	return func(t *Machine) error {
		_, err := t.PMUType(name)
		return err
	}
}

// PMUType is the perf event type of a dynamic event source: kprobe, uprobe
// or a hardware unit.
func (t *Machine) PMUType(name string) (uint32, error) {
	data, err := t.read(eventSources + name + "/type")
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(data)), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("type of event source %s: %w", name, err)
	}
	return uint32(n), nil
}

// linkAnswers loads a program and tries to make a link that must fail with
// want if the kernel understands it.
func linkAnswers(progType bpf.ProgramType, attach bpf.AttachType, want unix.Errno,
	link func(prog int) (int, error)) error {
	fd, err := bpf.ProgLoad(&bpf.ProgSpec{
		Type: progType, Attach: attach, License: "GPL", Insns: bpf.Assemble(bpf.MovImm(0, 0), bpf.Exit()),
	})
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	made, err := link(fd)
	if err == nil {
		unix.Close(made)
		return nil
	}
	if want != 0 && errors.Is(err, want) {
		return nil
	}
	return err
}

// everywhere is a function that every kernel has, and lets be probed.
const everywhere = "vfs_read"

// kprobeMultiTest makes a link of the kind, on one function, and closes it.
func kprobeMultiTest(attach bpf.AttachType) func(*Machine) error {
	return func(*Machine) error {
		m := bpf.KprobeMulti{Names: []string{everywhere}}
		return linkAnswers(bpf.Kprobe, attach, 0, func(prog int) (int, error) { return m.Link(prog, attach) })
	}
}

// isPermission reports whether an error is about privileges, not about what the kernel can do.
func isPermission(err error) bool {
	return errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES)
}

// AnyFunction is the type of a function that programs can follow on every kernel.
func (t *Machine) AnyFunction() (uint32, error) {
	s, err := t.BTF()
	if err != nil {
		return 0, err
	}
	return s.Find(everywhere, btf.Set(btf.Func))
}

// fentrySpec is a program on the entry of a function that every kernel has.
func fentrySpec(t *Machine) (*bpf.ProgSpec, error) {
	id, err := t.AnyFunction()
	return &bpf.ProgSpec{Type: bpf.Tracing, Attach: bpf.AttachFentry, AttachBTFID: id}, err
}

// typedRawTracepoint is a program on the raw tracepoint whose type most scripts
// that have typed ones need anyway.
func typedRawTracepoint(t *Machine) (*bpf.ProgSpec, error) {
	s, err := t.BTF()
	if err != nil {
		return nil, err
	}
	id, err := s.Find("btf_trace_sys_enter", btf.Set(btf.Typedef))
	if err != nil {
		return nil, err
	}
	return &bpf.ProgSpec{Type: bpf.Tracing, Attach: bpf.AttachRawTracepoint, AttachBTFID: id}, nil
}

// tracingHelper tries a helper in a program whose arguments have types; where
// fentry is forbidden, raw tracepoints are not. The helper's first argument is a null pointer,
// which those that take objects refuse in other words than a helper that is
// not there.
func tracingHelper(fn asm.BuiltinFunc) func(*Machine) error {
	return func(t *Machine) error {
		spec, err := typedRawTracepoint(t)
		if err != nil {
			return err
		}
		return helperKnown(spec, fn)
	}
}
