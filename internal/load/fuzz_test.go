package load

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/compile"
	"github.com/hawktrace/hawk/internal/hawktest/bound"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
)

// FuzzVerifierLog reads what a verifier may say. The words differ from kernel to kernel, and a log
// may be cut anywhere.
func FuzzVerifierLog(f *testing.F) {
	for _, log := range []string{
		"",
		"0: R1=ctx() R10=fp0\n0: (b7) r1 = 0                       ; R1=0\n1: (85) call " +
			"bpf_get_smp_processor_id#8\n2: (61) r1 = *(u32 *)(r0 +0)\nR0 invalid mem access " +
			"'scalar'\nprocessed 3 insns",
		"func#0 @0\n12: (85) call bpf_d_path#147\nhelper call is not allowed in probe\n",
		"The function vfs_read is marked notrace\n",
		"combined stack size of 2 calls is 544. Too large\n",
		"unknown func bpf_loop#181\n; return 0;\nfrom 108 to 44: safe\n",
		"BPF program is too large. Processed 1000001 insn\nlast insn 99999999999999999999 is not an exit or jmp\n",
		"-1: (95) exit\n9223372036854775807: (95) exit\nR0 !read_ok\n",
	} {
		f.Add(log, uint8(unix.EACCES))
		f.Add(log, uint8(unix.E2BIG))
	}
	res, ds := compile.Compile(source.NewFile("in.bt",
		"begin { @a[pid] = count();\n  printf(\"%s\", comm); }"), compile.Options{
		Probe: probe.Options{Machine: machine.Recorded("../compile/testdata/machine")},
	})
	if ds.HasErrors() {
		f.Fatal(ds.List())
	}
	f.Fuzz(func(t *testing.T, log string, code uint8) {
		bound.Run(t, len(log), func() {
			for _, p := range res.Object.Programs {
				complain(t, p, log, unix.Errno(max(code, 1)))
			}
		})
	})
}

func complain(t *testing.T, p *object.Program, log string, code unix.Errno) {
	err := (&Session{}).rejected(p, log, code)
	if err == nil || strings.TrimSpace(err.Error()) == "" {
		t.Error("a program is refused for no reason")
	}
}
