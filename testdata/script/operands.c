#include <stdio.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

// NOTE is a mark with arguments as they are written here: a nop, and a note that says where it is.
#define NOTE(semaphore, name, args) \
	"990: nop\n" \
	".pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n" \
	".4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n992: .balign 4\n" \
	"993: .8byte 990b\n.8byte _.stapsdt.base\n.8byte " semaphore "\n" \
	".asciz \"op\"\n.asciz \"" name "\"\n.asciz \"" args "\"\n994: .balign 4\n.popsection\n"

__asm__(".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n.weak _.stapsdt.base\n.hidden _.stapsdt.base\n"
	"_.stapsdt.base: .space 1\n.size _.stapsdt.base, 1\n.popsection\n");

long table[4] = {10, -20, 30, 40};
double real = 1.5;
float half = -1.5;
volatile unsigned short first __attribute__((section(".probes"))), second __attribute__((section(".probes")));

// With a number it waits until so many of its marks are traced: breakpoints in its code.
int main(int argc, char **argv)
{
	static unsigned char code[1024];
	extern char __executable_start[];
	int self = open("/proc/self/exe", O_RDONLY);
	if (pread(self, code, sizeof code, (char *)main - __executable_start) != sizeof code)
		return 1;
	for (int traced = 0, rounds = 0; argc > 1 && traced < atoi(argv[1]) && rounds < 600000; rounds++) {
		traced = 0;
		for (unsigned i = 0; i < sizeof code; i++)
			traced += code[i] != ((volatile unsigned char *)main)[i];
		usleep(1000);
	}
	__asm__ volatile("movabs $0x12345678fffffffe, %%r12\nmov $0xab, %%ah\n"
		NOTE("0", "registers", "-4@%%r12d 8@%%r12 4@%%r12d 2@%%r12w -1@%%r12b 1@%%ah -1@%%ah") ::: "rax", "r12");
	__asm__ volatile(NOTE("0", "constants", "2@$77 -8@$-3 1@$-1 4@$-1 -8@$-9223372036854775808 1@$240") ::);
	long index = 1;
	__asm__ volatile("lea 8(%0), %%r13\nmov $1, %%r14\n"
		NOTE("0", "memory", "8@-8(%%r13) -8@(%%r13) 8@8(%%r13) 8@(%%r13,%%r14,8) -8@-8(%%r13,%%r14,8) 1@(%%r13) 8@8(%%r13,%%r14,8) -4@(%%r13,%%r14)")
		:: "r"(table) : "r13", "r14");
	__asm__ volatile(NOTE("0", "symbols", "8@table+16(%%rip) -8@8+table(%%rip) 8@$table 8@$table+8") ::);
	__asm__ volatile("mov %0, %%r13\nmov %1, %%r14\nmovsd (%0), %%xmm0\n"
		NOTE("0", "floats", "8f@(%%r13) -4f@(%%r14) 8f@%%xmm0") :: "r"(&real), "r"(&half) : "r13", "r14", "xmm0");
	__asm__ volatile("mov $3, %%r13\n" NOTE("first", "twice", "8@%%r13 8@$1") ::: "r13");
	__asm__ volatile("mov $4, %%r14\n" NOTE("second", "twice", "4@%%r14d") ::: "r14");
	__asm__ volatile(NOTE("0", "odd \\\"name\\\"", "8@$5") ::);
	__asm__ volatile(NOTE("0", "strange", "4@%%zz") ::);
	fprintf(stderr, "semaphores %d %d\n", first, second);
	return 0;
}
