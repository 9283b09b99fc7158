/* Calls its functions in known numbers: outer 10 times, which calls inner twice and leaf each
   time 3 times; deep goes down 5 levels, 4 times; 1000 times it reads a byte. slow goes down 3
   levels, twice, and sleeps for 10 milliseconds in each. */
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, noclone, used))

static volatile int n;

KEEP int leaf(int x) { return n = x; }
KEEP int inner(int x) { return leaf(x) + leaf(x) + leaf(x); }
KEEP int outer(int x) { return inner(x) + inner(x) + 1; }
KEEP int deep(int x) { return x > 1 ? deep(x - 1) + 1 : leaf(x) + 1; }

KEEP int slow(int x)
{
	struct timespec t = {0, 10000000};
	nanosleep(&t, 0);
	return x > 1 ? slow(x - 1) + 1 : leaf(x) - 100;
}

int main(void)
{
	int zero = open("/dev/zero", O_RDONLY);
	char c;
	for (int i = 0; i < 10; i++)
		outer(i);
	for (int i = 0; i < 4; i++)
		deep(5);
	for (int i = 0; i < 1000; i++)
		if (read(zero, &c, 1) != 1)
			return 1;
	for (int i = 0; i < 2; i++)
		slow(3);
	return 0;
}
