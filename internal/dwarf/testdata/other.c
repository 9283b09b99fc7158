#include <stdint.h>

struct own {
	int64_t wide;
	char text[8];
};

struct pt {
	char other[3];
};

int second(struct own *o, struct pt p)
{
	return o->wide + p.other[0];
}
