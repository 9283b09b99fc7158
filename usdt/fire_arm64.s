//go:build linux

#include "textflag.h"

// The function of a mark changes no register but the link register. It uses 16
// bytes of stack.

// func call2(code uintptr, words *[12]uint64)
TEXT ·call2(SB), NOSPLIT, $16-16
	MOVD code+0(FP), R12
	MOVD words+8(FP), R13
	LDP 0(R13), (R0, R1)
	CALL (R12)
	RET

// func call6(code uintptr, words *[12]uint64)
TEXT ·call6(SB), NOSPLIT, $16-16
	MOVD code+0(FP), R12
	MOVD words+8(FP), R13
	LDP 0(R13), (R0, R1)
	LDP 16(R13), (R2, R3)
	LDP 32(R13), (R4, R5)
	CALL (R12)
	RET

// func call12(code uintptr, words *[12]uint64)
TEXT ·call12(SB), NOSPLIT, $16-16
	MOVD code+0(FP), R12
	MOVD words+8(FP), R13
	LDP 0(R13), (R0, R1)
	LDP 16(R13), (R2, R3)
	LDP 32(R13), (R4, R5)
	LDP 48(R13), (R6, R7)
	LDP 64(R13), (R8, R9)
	LDP 80(R13), (R10, R11)
	CALL (R12)
	RET
