#include "textflag.h"

// func clone(flags, stack uintptr, d *desk, task uintptr) int
TEXT ·clone(SB), NOSPLIT, $16-40
	MOVQ flags+0(FP), DI
	MOVQ stack+8(FP), SI
	MOVQ d+16(FP), R12
	MOVQ task+24(FP), R13
	XORL DX, DX
	XORL R10, R10
	XORL R8, R8
	MOVL $56, AX // SYS_clone
	SYSCALL
	CMPQ AX, $0
	JEQ  child
	MOVQ AX, ret+32(FP)
	RET

child:
	// The stack is another one from here on, which the linker cannot know: it
	// would take a direct call for endless recursion.
	MOVQ R12, 0(SP)
	MOVQ R13, 8(SP)
	MOVQ $·begin(SB), AX
	CALL AX
	INT  $3

// func take(n *uint64) uint64
TEXT ·take(SB), NOSPLIT, $0-16
	MOVQ n+0(FP), BX
	MOVQ $1, AX
	LOCK
	XADDQ AX, 0(BX)
	MOVQ AX, ret+8(FP)
	RET
