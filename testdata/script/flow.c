#define _SDT_HAS_SEMAPHORES 1
#include <pthread.h>
#include <sys/sdt.h>

/* What the interpreter calls so: the debugger's semaphores of the marks. */
#define SEMAPHORE(name) __attribute__((section(".probes"))) unsigned short python_##name##_semaphore
SEMAPHORE(function__entry);
SEMAPHORE(function__return);

static void enter(const char *f) { if (python_function__entry_semaphore) STAP_PROBE3(python, function__entry, "app.py", f, 1); }
static void leave(const char *f) { if (python_function__return_semaphore) STAP_PROBE3(python, function__return, "app.py", f, 2); }

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
