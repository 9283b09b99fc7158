// Package aot is what is compiled ahead of time: an executable that carries a
// compiled script, and finds out on the machine it runs on what the compiler
// knew of the one it ran on.
//
// The executable is a copy of hawk's own with a payload behind it and a trailer
// at its end. The payload has the compiled object in two variants, for the
// kernel it was compiled on and for the oldest that hawk supports; each lists the
// features that it needs. It also lists the facts of the kernel that
// instructions depend on. Offsets of members are looked up anew and the
// instructions relocated; of everything else it is only made sure that it is as
// it was. Attach points are matched again.
//
// Nothing here needs the compiler's stages. A payload is read with every length
// and index checked.
package aot
