#include <stdio.h>
#include <ucontext.h>

static ucontext_t first, second;
static char stack[65536];

static void other(void)
{
	char text[] = "other"; // on the stack, which is in memory
	puts(text);
}

int main(void)
{
	char one[] = "one", two[] = "two";
	getcontext(&second);
	second.uc_stack.ss_sp = stack;
	second.uc_stack.ss_size = sizeof stack;
	second.uc_link = &first;
	makecontext(&second, other, 0);
	puts(one);
	swapcontext(&first, &second);
	puts(two);
	return 0;
}
