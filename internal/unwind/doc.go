// Package unwind makes user stacks complete where code was compiled without
// frame pointers. It turns the call frame information of ELF files (.eh_frame)
// into sorted tables of rules and keeps those of the processes that are
// sampled in kernel maps, which programs search (their layout is that of
// package object).
//
// Files are hostile: everything is read with bounds, and a function whose
// information is malformed or beyond the format of the tables has a rule that
// ends the stack there.
package unwind
