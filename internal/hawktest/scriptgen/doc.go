// Package scriptgen makes up scripts for begin and end probes that the type
// checker accepts, nearly always, and that do the same on every machine. A
// script is a tree of text, so that one that shows a mistake can be made small
// without knowing the language.
package scriptgen
