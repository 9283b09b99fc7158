package insn

import (
	"encoding/hex"
	"slices"
	"strings"
	"testing"
)

func bytesOf(t *testing.T, text string) []byte {
	t.Helper()
	code, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return code
}

func TestLen(t *testing.T) {
	for _, tt := range []struct {
		code string
		want int
	}{
		{"90", 1}, {"c3", 1}, {"55", 1}, {"4889e5", 3}, {"f30f1efa", 4}, // nop ret push mov endbr64
		{"e800000000", 5}, {"66e800000000", 6}, {"0f8400000000", 6}, {"7400", 2}, // call jz
		{"488b0500000000", 7}, {"488b442408", 5}, {"8b84c800000000", 7}, {"8b04c500000000", 7}, // addressing
		{"48b80102030405060708", 10}, {"b801020304", 5}, {"66b80102", 4}, // mov imm
		{"f6450001", 4}, {"f7d8", 2}, {"48f7c700000000", 7}, {"66f7c70000", 5}, // test, neg
		{"c5f877", 3}, {"c5f96f06", 4}, {"c4e37d19c101", 6}, {"62f17c48100601", 6}, {"62f27d287ace", 6}, // vector
		{"0f3840c1", 4}, {"660f3a0fc108", 6}, {"0fa3c1", 3}, {"0fbae007", 4}, {"c8100000", 4},
		{"a10102030405060708", 9}, {"67a101020304", 6},
		{"660f78c00102", 6}, {"f20f78c10102", 6}, {"0f78c1", 3}, // extrq, insertq, vmread
		{"8fe97890c1", 5}, {"8fe878c0c101", 6}, {"8fea7812c101000000", 9}, {"8f00", 2}, // XOP, pop
		{"d51850", 3}, {"d598afc1", 4}, {"d508b80102030405060708", 11}, // REX2
		{"62f5740858c1", 6}, {"62f67c0813c1", 6}, // EVEX of the maps 5 and 6
		{"06", 0}, {"48", 0}, {"e80000", 0}, {"", 0}, {"6666666666666666666666666666666690", 0},
		{"486690", 0}, {"62f47c0800c1", 0},
	} {
		if got := AMD64.Len(bytesOf(t, tt.code)); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.code, got, tt.want)
		}
	}
	for _, tt := range []struct {
		code string
		want int
	}{
		{"40", 1}, {"06", 1}, {"9a010203040506", 7}, {"669a01020304", 6}, {"66e90102", 4}, {"660f840102", 5},
		{"c401", 2}, {"c5f877", 3}, {"6201", 2}, {"62f17c48100601", 6}, {"a101020304", 5}, {"67a10102", 4},
		{"678b4601", 4}, {"678b060102", 5}, {"678b00", 3}, {"8b0500000000", 6}, {"820001", 3}, {"d50a", 2},
	} {
		if got := I386.Len(bytesOf(t, tt.code)); got != tt.want {
			t.Errorf("32 bits, %s: %d, want %d", tt.code, got, tt.want)
		}
	}
	if got := ARM64.Len([]byte{1, 2, 3, 4, 5}); got != 4 {
		t.Errorf("arm64: %d, want 4", got)
	}
}

// TestStep has instructions that were seen to go wrong, and their neighbours that do not.
func TestStep(t *testing.T) {
	for _, tt := range []struct {
		set  Set
		code string
		want How
		why  string
	}{
		{AMD64, "62f27d287ace", Never, likeJump},       // vpbroadcastb %esi,%ymm17
		{AMD64, "c5f570c01b", Never, likeJump},         // vpshufd
		{AMD64, "c5f877", Never, likeJump},             // vzeroupper
		{AMD64, "c5f5ebc0", Never, likeJump},           // vpor
		{AMD64, "c5f590c0", Never, likeNop},            // kmov
		{AMD64, "c5f4c2c000", Never, likeReturn},       // vcmpps
		{AMD64, "c4e2f59dc0", Never, likeFlags},        // vfnmadd132sd
		{AMD64, "c5f96f06", Never, kernelRefuses},      // vmovdqa
		{AMD64, "c5f5efc0", Never, kernelRefuses},      // vpxor
		{AMD64, "c5f5fec0", Stepped, ""},               // vpaddd
		{AMD64, "c5f558c0", Stepped, ""},               // vaddpd
		{AMD64, "c5f550c0", Stepped, ""},               // vmovmskpd: too long to be a push
		{AMD64, "62f17d4858c0", Stepped, ""},           // vaddpd
		{AMD64, "c4e3750fc001", Stepped, ""},           // vpalignr
		{AMD64, "62f57c0858c1", Stepped, ""},           // vaddph
		{AMD64, "8fe97890c1", Never, tooNew},           // vprotb
		{AMD64, "d51850", Never, tooNew},               // push %r16
		{AMD64, "62fc7c0858c1", Never, unknown},        // of APX
		{AMD64, "62f9740858c1", Never, tooNew},         // a register of APX
		{AMD64, "90", Emulated, ""},                    // nop
		{AMD64, "f390", Emulated, ""},                  // pause
		{AMD64, "4190", Never, likeNop},                // xchg %eax,%r8d
		{AMD64, "4890", Emulated, ""},                  // nop
		{AMD64, "0f1f440000", Rewritten, ""},           // nop of five bytes
		{AMD64, "e900000000", Rewritten, ""},           // jmp .+5
		{AMD64, "e900000001", Emulated, ""},            // jmp
		{AMD64, "48895c2428", Stepped, ""},             // mov %rbx,40(%rsp)
		{AMD64, "66664889c0", Rewritten, ""},           // mov %rax,%rax
		{AMD64, "66664d89c0", Rewritten, ""},           // mov %r8,%r8
		{AMD64, "66664c89c0", Stepped, ""},             // mov %r8,%rax
		{AMD64, "66664889d8", Stepped, ""},             // mov %rbx,%rax
		{AMD64, "488d642400", Rewritten, ""},           // lea 0(%rsp),%rsp
		{AMD64, "488d642408", Stepped, ""},             // lea 8(%rsp),%rsp
		{AMD64, "488d7c2400", Stepped, ""},             // lea 0(%rsp),%rdi
		{AMD64, "488d643400", Stepped, ""},             // lea 0(%rsp,%rsi),%rsp
		{AMD64, "0f1f00", Stepped, ""},                 // nop of three bytes
		{AMD64, "55", Emulated, ""},                    // push
		{AMD64, "4154", Emulated, ""},                  // push %r12
		{AMD64, "4854", Stepped, ""},                   // push %rsp
		{AMD64, "6650", Stepped, ""},                   // push %ax
		{AMD64, "e800000000", Emulated, ""},            // call
		{AMD64, "66e800000000", Never, kernelRefuses},  // call with prefix
		{AMD64, "eb07", Emulated, ""},                  // jmp
		{AMD64, "eb08", Never, overNop},                // jmp .+10
		{AMD64, "0f8400000000", Emulated, ""},          // jz
		{AMD64, "0f9dc0", Stepped, ""},                 // setge
		{AMD64, "0fc2c100", Stepped, ""},               // cmpps
		{AMD64, "0f70c000", Stepped, ""},               // pshufw
		{AMD64, "0f3870c0", Never, unknown},            // nothing
		{AMD64, "c3", Stepped, ""},                     // ret
		{AMD64, "cb", Never, farTransfer},              // lret
		{AMD64, "ff1d00000000", Never, farTransfer},    // lcall *0(%rip)
		{AMD64, "ff1500000000", Stepped, ""},           // call *0(%rip)
		{AMD64, "66ff1500000000", Never, shortCall},    // callw
		{AMD64, "6648ff1500000000", Stepped, ""},       // call to __tls_get_addr
		{AMD64, "9c", Never, seesFlags},                // pushf
		{AMD64, "9d", Stepped, ""},                     // popf
		{AMD64, "cc", Never, kernelRefuses},            // int3
		{AMD64, "f00fc108", Never, kernelRefuses},      // lock xadd
		{AMD64, "3ee9", Never, unknown},                // cut off
		{AMD64, "2e0f1f440000", Never, kernelRefuses},  // nop with a prefix
		{AMD64, "8ed0", Never, kernelRefuses},          // mov %eax,%ss
		{AMD64, "0f05", Never, systemCall},             // syscall
		{AMD64, "0f0b", Stepped, ""},                   // ud2: the signal is that of the place
		{AMD64, "f3a4", Never, repeats},                // rep movsb
		{AMD64, "a4", Stepped, ""},                     // movsb
		{AMD64, "c7f800000000", Never, transaction},    // xbegin
		{AMD64, "0f01d0", Stepped, ""},                 // xgetbv
		{AMD64, "0f01c8", Never, emulated},             // monitor
		{AMD64, "0f01e0", Never, emulated},             // smsw
		{AMD64, "f30f1efa", Stepped, ""},               // endbr64
		{AMD64, "f30f1005 00000000", Stepped, ""},      // movss 0(%rip)
		{AMD64, "f30f2b05 00000000", Never, oddPrefix}, // movntss 0(%rip)
		{AMD64, "f30f2b03", Stepped, ""},               // movntss (%rbx)
		{AMD64, "f20f4105 00000000", Never, oddPrefix}, // cmovno 0(%rip) with a prefix
		{AMD64, "f20f38f105 00000000", Stepped, ""},    // crc32 0(%rip)
		{AMD64, "06", Never, unknown},                  // not in 64 bits
		{I386, "06", Stepped, ""},                      // push %es
		{I386, "40", Stepped, ""},                      // inc %eax
		{I386, "c5f5eac0", Never, likeReturn},          // vpminsw
		{I386, "9a010203040506", Never, farTransfer},   // lcall
		{I386, "e900000000", Emulated, ""},             // jmp
		{I386, "cd80", Never, kernelRefuses},           // int $0x80
		{I386, "0f34", Never, systemCall},              // sysenter
		{ARM64, "1f2003d5", Stepped, ""},               // nop
		{ARM64, "3f2303d5", Stepped, ""},               // paciasp
		{ARM64, "5f2403d5", Stepped, ""},               // bti c
		{ARM64, "5f2003d5", Never, kernelRefuses},      // wfe
		{ARM64, "fd7bbfa9", Stepped, ""},               // stp
		{ARM64, "00000014", Emulated, ""},              // b
		{ARM64, "00000094", Emulated, ""},              // bl
		{ARM64, "00000054", Emulated, ""},              // b.eq
		{ARM64, "10000054", Never, fromPC},             // bc.eq
		{ARM64, "000000b4", Emulated, ""},              // cbz
		{ARM64, "00000037", Emulated, ""},              // tbnz
		{ARM64, "00000010", Emulated, ""},              // adr
		{ARM64, "00000090", Emulated, ""},              // adrp
		{ARM64, "c0035fd6", Emulated, ""},              // ret
		{ARM64, "ff0b5fd6", Never, kernelRefuses},      // retaa
		{ARM64, "00000058", Never, fromPC},             // ldr of a literal
		{ARM64, "007c5fc8", Never, exclusive},          // ldxr
		{ARM64, "007c01c8", Never, exclusive},          // stxr
		{ARM64, "00fcdfc8", Stepped, ""},               // ldar
		{ARM64, "007ca1c8", Stepped, ""},               // cas
		{ARM64, "227c2008", Never, kernelRefuses},      // casp
		{ARM64, "bf2303d5", Never, kernelRefuses},      // autiasp
		{ARM64, "00000000", Stepped, ""},               // udf: the signal is that of the place
		{ARM64, "0000001c", Never, fromPC},             // ldr of a literal to s0, which the kernel would step
		{ARM64, "010000d4", Never, kernelRefuses},      // svc
		{ARM64, "000020d4", Never, kernelRefuses},      // brk
		{ARM64, "40d03bd5", Stepped, ""},               // mrs
		{ARM64, "40d01bd5", Never, kernelRefuses},      // msr
		{ARM64, "bf3b03d5", Stepped, ""},               // dmb ish
		{ARM64, "20740bd5", Stepped, ""},               // dc zva
		{ARM64, "40040119", Never, consecutive},        // cpyfp
		{ARM64, "fea3c1da", Never, fromPC},             // paciasppc
		{0, "ff", Stepped, ""},
	} {
		how, why := tt.set.Step(bytesOf(t, tt.code))
		if how != tt.want || !strings.HasPrefix(why, tt.why) || (why == "") != (tt.why == "") {
			t.Errorf("%d %s: %d %q, want %d %q", tt.set, tt.code, how, why, tt.want, tt.why)
		}
	}
}

// TestKernelRules compares with the rules of arch/arm64/kernel/probes/decode-insn.c
// from 5.10 on: hawk lets no instruction be probed that the kernel refuses, nor
// takes one that it steps for one that it emulates.
func TestKernelRules(t *testing.T) {
	type form struct{ mask, value uint32 }
	is := func(w uint32, forms ...form) bool {
		return slices.ContainsFunc(forms, func(f form) bool { return w&f.mask == f.value })
	}
	emulated := []form{
		{0xff000010, 0x54000000},                                                     // b.cond
		{0x7e000000, 0x34000000},                                                     // cbz, cbnz
		{0x7e000000, 0x36000000},                                                     // tbz, tbnz
		{0x1f000000, 0x10000000},                                                     // adr, adrp
		{0x7c000000, 0x14000000},                                                     // b, bl
		{0xfffffc1f, 0xd61f0000}, {0xfffffc1f, 0xd63f0000}, {0xfffffc1f, 0xd65f0000}, // br, blr, ret
	}
	refused := []form{
		// braa, blraa, retaa and the like
		{0xfefff800, 0xd61f0800}, {0xfefff800, 0xd63f0800}, {0xfffffbff, 0xd65f0bff},
		{0xfff8f01f, 0xd500401f}, {0xfff00000, 0xd5100000}, // msr
		{0xff000000, 0xd4000000},                           // exceptions
		{0xffffffff, 0xd69f03e0}, {0xfffffbff, 0xd69f0bff}, // eret
		// Loads of literals to general registers.
		{0xbf000000, 0x18000000}, {0xff000000, 0x98000000}, {0xff000000, 0xd8000000},
		{0x3f800000, 0x08000000}, // exclusive accesses, and casp
		{0x3b200c00, 0x19000400}, // copies and fills
	}
	kernel := func(w uint32) How {
		switch {
		case is(w, emulated...):
			return Emulated
		case is(w, refused...):
			return Never
		case w&0xfffff01f == 0xd503201f: // hints
			if !slices.Contains([]uint32{0, 7, 8, 10, 24, 25, 26, 27, 32, 34, 36, 38}, w>>5&0x7f) {
				return Never
			}
		}
		return Stepped
	}
	check := func(w uint32) {
		got, why := stepARM64(w)
		if want := kernel(w); got != want && got != Never {
			t.Errorf("%08x: %d %s, but the kernel's is %d", w, got, why, want)
		}
	}
	for hint := range uint32(128) {
		check(0xd503201f | hint<<5)
	}
	lows := []uint32{
		0, 0x001f, 0x03e0, 0x03ff, 0x0400, 0x07e0, 0x0800, 0x0bff,
		0x0c00, 0x0fff, 0x1000, 0x401f, 0x7c00, 0x7fff, 0xfc00, 0xfc1f, 0xffff,
	}
	for high := range uint32(1 << 16) { // the bits that tell instructions apart, with some of the others
		for _, low := range lows {
			check(high<<16 | low)
		}
	}
}

func TestInExclusive(t *testing.T) {
	for _, tt := range []struct {
		before string
		want   bool
	}{
		{"007c5fc8", true},                    // ldxr
		{"007c5fc8 1f2003d5", true},           // and a nop
		{"007c5fc8 007c01c8", false},          // and stxr
		{"007c5fc8 c0035fd6", false},          // and ret
		{"007c5fc8 00000014 1f2003d5", false}, // and b
		{"1f2003d5", false}, {"", false},
	} {
		if got := ARM64.InExclusive(bytesOf(t, tt.before)); got != tt.want {
			t.Errorf("%s: %v", tt.before, got)
		}
	}
}

func FuzzStep(f *testing.F) {
	f.Add([]byte{0x48, 0x8b, 0x05, 0, 0, 0, 0})
	f.Add([]byte{0x62, 0xf2, 0x7d, 0x28, 0x7a, 0xce})
	f.Fuzz(func(t *testing.T, code []byte) {
		for _, s := range []Set{AMD64, I386, ARM64} {
			n := s.Len(code)
			how, why := s.Step(code)
			if n < 0 || n > MaxLen || n > len(code) || (how == Never) != (why != "") || n == 0 && how != Never {
				t.Errorf("%d %x: %d bytes, %d %q", s, code, n, how, why)
			}
			s.InExclusive(code)
		}
	})
}
