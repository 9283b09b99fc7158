//go:build linux && (amd64 || arm64)

package usdt

// The calls put the first 2, 6 or all words into the registers of the mark's
// function and call it. They keep the frame pointer.

//go:noescape
func call2(code uintptr, words *[maxWords]uint64)

//go:noescape
func call6(code uintptr, words *[maxWords]uint64)

//go:noescape
func call12(code uintptr, words *[maxWords]uint64)
