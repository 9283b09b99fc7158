#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A child sleeps 200 times, then two threads of it take turns on one processor until each has had it for
   20 milliseconds. */
static volatile int there, done;
static int tids[2];

static void *turn(void *name)
{
	struct timespec t;
	cpu_set_t one, all;
	int i, mine = 0;

	prctl(PR_SET_NAME, name);
	sched_getaffinity(0, sizeof all, &all);
	CPU_ZERO(&one);
	for (i = 0; !CPU_ISSET(i, &all); i++)
		;
	CPU_SET(i, &one);
	sched_setaffinity(0, sizeof one, &one);
	tids[*(char *)name - 'a'] = syscall(SYS_gettid);
	__sync_fetch_and_add(&there, 1);
	while (there < 2)
		sched_yield();
	while (done < 2) {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		if (!mine && t.tv_nsec >= 20000000) {
			mine = 1;
			__sync_fetch_and_add(&done, 1);
		}
	}
	return NULL;
}

static long switches(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return u.ru_nvcsw + u.ru_nivcsw;
}

static void work(void)
{
	struct timespec t = {0, 100000};
	pthread_t a, b;

	for (int i = 0; i < 200; i++)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
	pthread_create(&a, NULL, turn, "alpha");
	pthread_create(&b, NULL, turn, "beta");
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("switches %ld tids %d %d\n", switches(), tids[0], tids[1]);
}

int main(void)
{
	struct rusage u;
	pid_t child = fork();

	if (child == 0) {
		work();
		return 0;
	}
	if (child < 0 || wait4(child, NULL, 0, &u) != child)
		return 1;
	printf("child %d all %ld\n", child, u.ru_nvcsw + u.ru_nivcsw);
	return 0;
}
