#include "textflag.h"

// func clone(flags, stack uintptr, d *desk, task, function uintptr) int
TEXT ·clone(SB), NOSPLIT, $16-48
	MOVQ flags+0(FP), DI
	MOVQ stack+8(FP), SI
	MOVQ d+16(FP), R12
	MOVQ task+24(FP), R13
	MOVQ function+32(FP), R15
	XORL DX, DX
	XORL R10, R10
	XORL R8, R8
	MOVL $56, AX // SYS_clone
	SYSCALL
	CMPQ AX, $0
	JEQ  child
	MOVQ AX, ret+40(FP)
	RET

child:
	// The stack is another one from here on, with room for two arguments; what else
	// Go expects in registers, R14 and X15, is as it was.
	MOVQ R12, AX
	MOVQ R13, BX
	CALL R15
	INT  $3

// func call(nr, a, b, c, d, e, f uintptr) int
TEXT ·call(SB), NOSPLIT, $0-64
	MOVQ nr+0(FP), AX
	MOVQ a+8(FP), DI
	MOVQ b+16(FP), SI
	MOVQ c+24(FP), DX
	MOVQ d+32(FP), R10
	MOVQ e+40(FP), R8
	MOVQ f+48(FP), R9
	SYSCALL
	MOVQ AX, ret+56(FP)
	RET

// func take(n *uint64) uint64
TEXT ·take(SB), NOSPLIT, $0-16
	MOVQ n+0(FP), BX
	MOVQ $1, AX
	LOCK
	XADDQ AX, 0(BX)
	MOVQ AX, ret+8(FP)
	RET
