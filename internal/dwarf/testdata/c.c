struct opaque;
struct pt {
	int x, y;
};
enum color { RED, GREEN = 5 };
typedef struct conn conn_t;
struct conn {
	int fd;
	char name[16];
	unsigned a : 3;
	int b : 7;
	enum color c;
	struct pt where;
	conn_t *next;
	union {
		int i;
		long l;
	};
	int m[2][3];
};

struct opaque *hidden;

__attribute__((noinline)) int addpt(struct pt *p, int k, const char *msg)
{
	return p->x + k + (msg ? msg[0] : 0);
}

__attribute__((noinline)) long use(conn_t *c, struct pt byval, double d, enum color shade, int (*cb)(int, char), struct conn big)
{
	return c->fd + byval.x + (long)d + shade + (cb ? cb(1, 'a') : 0) + big.fd;
}

__attribute__((noinline)) void nothing(void)
{
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	struct conn c = {.fd = 7, .name = "hello"};
	struct pt p = {3, 4};
	nothing();
	return addpt(&p, argc, argv[0]) + use(&c, p, 1.5, GREEN, 0, c);
}
