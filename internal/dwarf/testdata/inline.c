volatile int sink;

static inline __attribute__((always_inline)) void innermost(int n)
{
	sink += n;
	__asm__ volatile(".globl mark\nmark:\n\tnop");
	sink -= n;
}

static inline __attribute__((always_inline)) int middle(int n)
{
	for (int i = 0; i < n; i++) {
		int twice = 2 * i;
		if (twice > 4)
			innermost(twice);
	}
	return n;
}

__attribute__((noinline, externally_visible)) int around(int n)
{
	int k = n + sink;
	k += middle(k);
	return k;
}

int main(void)
{
	return around(8) > 100;
}
