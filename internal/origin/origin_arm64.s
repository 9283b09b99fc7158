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
