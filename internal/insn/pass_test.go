package insn

import "testing"

// TestCheaper has starts of functions, and how far a breakpoint may be moved.
func TestCheaper(t *testing.T) {
	const args = Registers(0xffff &^ (1<<0 | 1<<3 | 1<<5 | 0x3f<<10)) // what a probe that reads arguments keeps
	for _, tt := range []struct {
		name, code string
		keep       Registers
		goCode     bool
		want       int
	}{
		{"push", "55 4889e5", args, false, 0},
		{"endbr64, push", "f30f1efa 55", args, false, 4},
		{"endbr64, xor eax, cmp, ja", "f30f1efa 31c0 83ff05 7710", args, false, 9},
		{"sub rsp keeps no stack", "4883ec08 e800000000", args, false, 0},
		{"sub rsp", "4883ec08 e800000000", 0, false, 4},
		{"mov edi is an argument", "bf01000000 eb10", args, false, 0},
		{"mov edi", "bf01000000 eb10", 0, false, 5},
		{"mov r8 is an argument", "49b80000000000000000 eb10", args, false, 0},
		{"mov rax, rdi", "4889f8 7410", args, false, 3},
		{"mov r14, rdi in C", "4989fe 7410", args, false, 3},
		{"mov r14, rdi where it counts", "4989fe 7410", args | GoroutineAt, true, 0},
		{"load of the file", "488b0511223344 4885c0 7410", args, false, 10},
		{"load through a pointer", "488b07 4885c0 7410", args, false, 0},
		{"cmp through a pointer", "803f00 7410", args, false, 0},
		{"store", "893d11223344 eb10", args, false, 0},
		{"add to memory", "830511223344 01 eb10", args, false, 0},
		{"canary", "64488b042528000000 eb10", args, false, 9},
		{"of the thread, by a register", "64488b07 eb10", args, false, 0},
		{"of the thread, with an index", "64488b043d28000000 eb10", args, false, 0},
		{"stack of a goroutine", "493b6610 7610", args | GoroutineAt, true, 4},
		{"the same in C", "493b6610 7610", args, false, 0},
		{"lea", "488d4701 eb10", args, false, 4},
		{"long nop", "660f1f440000 0f1f4000 eb10", args, false, 0}, // the first has a prefix of size
		{"nop", "0f1f4000 eb10", args, false, 4},
		{"ret", "31c0 c3", args, false, 0},
		{"jump by a register", "ffe0", args, false, 0},
		{"refused", "31c0 f0480107 eb10", args, false, 0},
		{"vector", "c5f877 eb10", args, false, 0},
		{"taken for a jump", "31c0 62f27d287ace eb10", args, false, 0},
		{"flags", "31c0 9c eb10", args, false, 0},
		{"system call", "31c0 0f05 eb10", args, false, 0},
		{"movzx", "400fb6c7 eb10", args, false, 4},
		{"movzx of memory", "0fb607 eb10", args, false, 0},
		{"cut off", "31c0", args, false, 0},
		{"bytes of ah", "b401 eb10", args, false, 0},
		{"shift", "c1e004 eb10", args, false, 3},
		{"divides", "f7f1 eb10", 0, false, 0},
	} {
		if got := AMD64.Cheaper(bytesOf(t, tt.code), tt.keep, tt.goCode); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
	if got := I386.Cheaper(bytesOf(t, "31c0 eb10"), 0, false); got != 0 {
		t.Errorf("32 bits: %d", got)
	}
}
