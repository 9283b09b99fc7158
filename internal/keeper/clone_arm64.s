#include "textflag.h"

// func clone(flags, stack uintptr, d *desk, task, function uintptr) int
TEXT ·clone(SB), NOSPLIT, $32-48
	MOVD flags+0(FP), R0
	MOVD stack+8(FP), R1
	MOVD d+16(FP), R19
	MOVD task+24(FP), R20
	MOVD function+32(FP), R21
	MOVD ZR, R2
	MOVD ZR, R3
	MOVD ZR, R4
	MOVD $220, R8 // SYS_clone
	SVC
	CBZ  R0, child
	MOVD R0, ret+40(FP)
	RET

child:
	// The stack is another one from here on, with room for two arguments behind a
	// word that is the callee's; what else Go expects in registers, R28, is as it was.
	MOVD R19, R0
	MOVD R20, R1
	CALL (R21)
	BRK

// func call(nr, a, b, c, d, e, f uintptr) int
TEXT ·call(SB), NOSPLIT, $0-64
	MOVD nr+0(FP), R8
	MOVD a+8(FP), R0
	MOVD b+16(FP), R1
	MOVD c+24(FP), R2
	MOVD d+32(FP), R3
	MOVD e+40(FP), R4
	MOVD f+48(FP), R5
	SVC
	MOVD R0, ret+56(FP)
	RET

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
