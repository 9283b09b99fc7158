#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
	getenv("NOSUCH_VARIABLE");
	volatile int order = strverscmp("a1", "a2");
	getppid();
	exit(0);
}
