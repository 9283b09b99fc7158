#define _SDT_HAS_SEMAPHORES 1
#include <pthread.h>
#include <string.h>
#include <sys/sdt.h>

/* A debugger counts here that it looks at a mark. */
#define SEMAPHORE(name) __attribute__((section(".probes"))) unsigned short python_##name##_semaphore
SEMAPHORE(function__entry);
SEMAPHORE(function__return);

/* Names are in memory when a mark is passed, as those of an interpreter are. */
#define MARK(which, f, line) do { \
	char file[] = "app.py", name[16]; \
	strcpy(name, f); \
	if (python_##which##_semaphore) \
		STAP_PROBE3(python, which, file, name, line); \
} while (0)

static void enter(const char *f) { MARK(function__entry, f, 1); }
static void leave(const char *f) { MARK(function__return, f, 2); }

static void leaf(void) { enter("leaf"); leave("leaf"); }

static void inner(int n)
{
	enter("inner");
	leaf();
	if (n > 1)
		inner(n - 1);
	leave("inner");
}

static void outer(void) { enter("outer"); inner(2); leaf(); leave("outer"); }

static void *thread(void *x) { leaf(); return x; }

int main(void)
{
	pthread_t t;
	for (int i = 0; i < 3; i++)
		outer();
	pthread_create(&t, 0, thread, 0);
	pthread_join(t, 0);
	leave("main"); // entered before anybody looked
	leaf();
	return 0;
}
