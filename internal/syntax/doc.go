// Package syntax turns script text into a tree and back.
//
// Parse reads the whole language; what comes in is a file of any bytes, what
// goes out is a Script and the diagnostics about its form. The tree knows
// nothing of probes, types or names beyond what the grammar needs: whether an
// identifier in parentheses is a type is guessed by shape and can be settled
// later by Reparse, once macros and constants are known.
//
// Attach points stay raw text in the tree because their parts depend on
// positional parameters; SplitAttach cuts them.
//
// Print writes the canonical layout and is the inverse of Parse: printing a
// tree and parsing the text gives an equal tree. Dump shows a tree's shape.
//
// Nothing in this package panics or hangs on any input, nesting is bounded.
package syntax
