#include "textflag.h"

// func openFiles(limit *[2]uint64) int
TEXT ·openFiles(SB), NOSPLIT, $0-16
	MOVD limit+0(FP), R3
	MOVD ZR, R0
	MOVD $7, R1 // RLIMIT_NOFILE
	MOVD ZR, R2
	MOVD $261, R8 // SYS_prlimit64
	SVC
	MOVD R0, ret+8(FP)
	RET

// func entry()
TEXT ·entry(SB), NOSPLIT|NOFRAME, $0-0
	SUB  $48, RSP
	MOVD $1, R19

next:
	MOVD $134, R8 // SYS_rt_sigaction
	MOVD R19, R0
	MOVD ZR, R1
	MOVD RSP, R2
	MOVD $8, R3
	SVC
	CBNZ R0, skip
	MOVD (RSP), R4
	CMP  $1, R4 // SIG_IGN
	BNE  skip
	SUB  $1, R19, R5
	MOVD $1, R6
	LSL  R5, R6, R6
	MOVD ·ignored(SB), R7
	ORR  R6, R7, R7
	MOVD R7, ·ignored(SB)

skip:
	ADD  $1, R19
	CMP  $64, R19
	BLE  next
	ADD  $48, RSP
	MOVD ZR, R0
	JMP  _rt0_arm64_linux(SB)
