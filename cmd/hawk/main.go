// Hawk traces programs and the kernel with scripts compiled to eBPF.
//
// The runtime would ask each second how many processors it may use, which those who trace system calls would see.
//
//go:debug updatemaxprocs=0
package main

import (
	"os"
	"runtime"

	"github.com/hawktrace/hawk/internal/cli"
)

// The main function stays in the main thread: it is there that begin and end programs run, whose tid is the pid.
func init() { runtime.LockOSThread() }

func main() { os.Exit(cli.Main(os.Args[1:])) }
