#include "textflag.h"

// func clone(flags, stack uintptr, d *desk, task uintptr) int
TEXT ·clone(SB), NOSPLIT, $32-40
	MOVD flags+0(FP), R0
	MOVD stack+8(FP), R1
	MOVD d+16(FP), R19
	MOVD task+24(FP), R20
	MOVD ZR, R2
	MOVD ZR, R3
	MOVD ZR, R4
	MOVD $220, R8 // SYS_clone
	SVC
	CBZ  R0, child
	MOVD R0, ret+32(FP)
	RET

child:
	// The stack is another one from here on, which the linker cannot know: it
	// would take a direct call for endless recursion. The first word is the
	// callee's.
	MOVD R19, 8(RSP)
	MOVD R20, 16(RSP)
	MOVD $·begin(SB), R0
	CALL (R0)
	BRK

// func take(n *uint64) uint64
TEXT ·take(SB), NOSPLIT, $0-16
	MOVD n+0(FP), R0
again:
	LDAXR (R0), R1
	ADD   $1, R1, R2
	STLXR R2, (R0), R3
	CBNZ  R3, again
	MOVD  R1, ret+8(FP)
	RET
