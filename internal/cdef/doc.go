// Package cdef reads the C of a script: preprocessor lines, definitions of
// structs, unions, enums and typedefs, and the headers they include.
//
// The input is pieces of C text with their places in the script; the result
// is a Unit, which answers by name: types with the layout of a 64-bit
// System V ABI (LP64), enumerators, and object-like macros with their
// replacement text. The road is the one of translation phases: tokens
// (token.go), macros (macro.go), directives (preprocessor.go, include.go), constant
// expressions (expr.go), declarations (parse.go, declarator.go, record.go), and
// conversion to the types of hawk (unit.go).
//
// Headers hold much that no script needs. Functions, variables and
// initialisers are skipped by their brackets; a declaration that cannot be read
// is skipped with a warning, and its types are missing, which is an error only
// if the script uses them. In the text of the script itself every fault is an
// error.
//
// Scripts are not trusted and headers may be anything: depth of nesting, bytes
// read and tokens made are bounded, and only regular files are opened.
package cdef
