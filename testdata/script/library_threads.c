#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static void *work(void *arg)
{
	for (int i = 0; i < 100; i++)
		free(malloc(100));
	return arg;
}

static void handle(int n) { (void)n; }

int main(void)
{
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], 0, work, 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], 0);
	getpid();
	signal(SIGUSR1, handle);
	raise(SIGUSR1);
	raise(SIGTERM);
	return 0;
}
