// Package aot is what is compiled ahead of time: an executable that carries a
// compiled script, and finds out on the machine it runs on what the compiler
// knew of the one it ran on.
//
// The executable is a copy of hawk's own with a payload behind it and a trailer
// at its end. The payload has the compiled object in variants: one for the kernel
// that it was compiled on, then one for kernels before the youngest feature that
// the last one needs, down to the oldest that can run the script, each of them
// once more in pieces where that is possible. A variant lists the features that
// it needs, and the facts of the kernel that
// instructions depend on. Offsets of members are looked up anew and the
// instructions relocated; of everything else it is only made sure that it is as
// it was. Attach points are matched again.
//
// Nothing here needs the compiler's stages. A payload is read with every length
// and index checked.
package aot
