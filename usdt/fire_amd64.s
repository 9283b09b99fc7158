//go:build linux

#include "textflag.h"

// The function of a mark changes no register. It uses 16 bytes of stack, and a
// kernel that puts a call in place of its nop some more: far less than what is left to functions that are not split.

// func call2(code uintptr, words *[12]uint64)
TEXT ·call2(SB), NOSPLIT, $8-16
	MOVQ code+0(FP), R15
	MOVQ words+8(FP), AX
	MOVQ 0(AX), DI
	MOVQ 8(AX), SI
	CALL R15
	RET

// func call6(code uintptr, words *[12]uint64)
TEXT ·call6(SB), NOSPLIT, $8-16
	MOVQ code+0(FP), R15
	MOVQ words+8(FP), AX
	MOVQ 0(AX), DI
	MOVQ 8(AX), SI
	MOVQ 16(AX), DX
	MOVQ 24(AX), CX
	MOVQ 32(AX), R8
	MOVQ 40(AX), R9
	CALL R15
	RET

// func call12(code uintptr, words *[12]uint64)
TEXT ·call12(SB), NOSPLIT, $8-16
	MOVQ code+0(FP), R15
	MOVQ words+8(FP), AX
	MOVQ 0(AX), DI
	MOVQ 8(AX), SI
	MOVQ 16(AX), DX
	MOVQ 24(AX), CX
	MOVQ 32(AX), R8
	MOVQ 40(AX), R9
	MOVQ 48(AX), R10
	MOVQ 56(AX), R11
	MOVQ 64(AX), R12
	MOVQ 72(AX), R13
	MOVQ 88(AX), BX
	MOVQ 80(AX), AX
	CALL R15
	RET
