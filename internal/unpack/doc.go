// Package unpack puts decoded values of a script into values of Go. What goes where
// is planned once for a type of each side; after that a value is stored without
// looking at names, tags or kinds again.
//
// An integer goes into any integer of Go that holds its value, never cut. Records
// go into structs by name, tuples by position, and any other value into the first field.
package unpack
