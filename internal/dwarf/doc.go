// Package dwarf finds in debug information what probes on user programs ask
// for: the arguments of functions, types by name, the address of a source
// line.
//
// Debug information can be far larger than the program. Nothing is indexed as a
// whole: a function is found through the ranges of addresses of the units, a
// name by searching for its bytes, and only what is found is decoded. Entries
// are decoded here and not by the package of the standard library, which reads
// the layouts of all units first and does not follow units that are split off;
// what they hold is in its types.
package dwarf
