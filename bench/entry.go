package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

const entryNote = "What one call of a function costs more while `uprobe:PROGRAM:function { @ = count(); }` " +
	"runs, by the instructions that the function begins with: what the kernel emulates is cheap, what it has " +
	"to step is not. The fastest of three times 50,000 calls, from a program in C."

// entries are functions of x86-64 that return 0, by what they begin with.
var entries = []struct{ name, code string }{
	{"push", "push %rbp; pop %rbp; xor %eax, %eax; ret"},
	{"endbr64, push", "endbr64; push %rbp; pop %rbp; xor %eax, %eax; ret"},
	{"sub, call", "sub $8, %rsp; call 1f; add $8, %rsp; ret; 1: xor %eax, %eax; ret"},
	{"mov, test, je", "mov %rdi, %rax; test %edi, %edi; je 1f; xor %eax, %eax; 1: ret"},
	{"mov through a pointer", "mov (%rsi), %rax; xor %eax, %eax; ret"},
}

// entryMain is C, since Go's functions take their arguments and grow their stacks in a way of
// their own. Its loop adds up what the calls return: a compiler has nothing to leave out then.
const entryMain = `
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double once(long (*f)(long, long *))
{
	struct timespec a, b;
	long x = 0;
	clock_gettime(CLOCK_MONOTONIC, &a);
	for (int i = 0; i < 50000; i++)
		x += f(1, &x);
	clock_gettime(CLOCK_MONOTONIC, &b);
	return ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / 50000 + (x != 0);
}

int main(int argc, char **argv)
{
	long (*f)(long, long *) = all[atoi(argv[1])];
	double least = once(f);
	for (int i = 0; i < 2; i++) {
		double d = once(f);
		if (d < least)
			least = d;
	}
	printf("%f\n", least);
}
`

// entry measures uprobes by the instructions that functions begin with.
func entry(b *bench) ([]row, error) {
	// The table of entries is in that machine's assembler.
	if runtime.GOARCH != "amd64" {
		return nil, nil
	}
	if _, err := exec.LookPath("cc"); err != nil {
		return nil, fmt.Errorf("there is no C compiler: %w", err)
	}
	var source, table strings.Builder
	for i, e := range entries {
		// The type and the size tell tools that a symbol is a function, and how far its code
		// goes.
		fmt.Fprintf(&source, "long f_%d(long, long *);\n__asm__(\".text; .globl f_%[1]d; .type f_%[1]d, @function; "+
			"f_%[1]d: %s; .size f_%[1]d, . - f_%[1]d\");\n", i, e.code)
		fmt.Fprintf(&table, "f_%d, ", i)
	}
	fmt.Fprintf(&source, "static long (*all[])(long, long *) = {%s};\n%s", table.String(), entryMain)
	program := filepath.Join(b.dir, "entries")
	if err := os.WriteFile(program+".c", []byte(source.String()), 0o600); err != nil {
		return nil, err
	}
	if out, err := exec.Command("cc", "-O1", "-o", program, program+".c").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cc: %w\n%s", err, out)
	}
	var rows []row
	for i, e := range entries {
		got, err := b.interleave(min(b.rounds, 5), func(t *tool) ([]float64, error) {
			// A process of its own for each: a breakpoint that was once in a mapping leaves a
			// private page behind.
			bare, err := calls(program, i)
			if err != nil {
				return nil, err
			}
			s, err := t.attach("-e", fmt.Sprintf("uprobe:%s:f_%d { @ = count(); }", program, i))
			if err != nil {
				return nil, err
			}
			traced, err := calls(program, i)
			if err := errors.Join(err, s.stop()); err != nil {
				return nil, err
			}
			return []float64{traced - bare}, nil
		})
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{"`" + e.name + "`", "ns", got[0]})
	}
	return rows, nil
}

// calls runs the program, which says how many nanoseconds a call takes.
func calls(program string, function int) (float64, error) {
	out, err := exec.Command(program, strconv.Itoa(function)).Output()
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
}
