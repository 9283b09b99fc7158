// Hawk traces programs and the kernel with scripts compiled to eBPF.
package main

import (
	"os"

	"github.com/hawktrace/hawk/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:])) }
