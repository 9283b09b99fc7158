// Package table has the whole table of builtins: it imports the rooms in which entries are.
package table

import (
	_ "github.com/hawktrace/hawk/internal/builtin/kernel" // objects of the kernel
	_ "github.com/hawktrace/hawk/internal/builtin/show"   // what prints
)
