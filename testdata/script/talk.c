/* Connections of loopback, between two processes, that carry known numbers of bytes and end in
   known ways. Each is waited for until the kernel has closed both ends. The file "want" gets a line
   of each: how it ends, the client's process and port, the server's. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define UP 12345
#define DOWN 777

static char data[UP];
static FILE *want;

static void check(long ok) { if (!ok) { perror("talk"); exit(1); } }

static void take(int fd, int n)
{
	for (int got = 0; got < n;) {
		int r = read(fd, data, n - got);
		check(r > 0);
		got += r;
	}
}

static void give(int fd, int n) { check(write(fd, data, n) == n); }

/* Waits for the end of a connection. */
static void gone(int fd)
{
	struct tcp_info info = {0};
	socklen_t n = sizeof info;
	while (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) == 0 && info.tcpi_state != TCP_CLOSE)
		usleep(100);
	close(fd);
}

static void serve(int listener, char how)
{
	int fd = accept(listener, 0, 0);
	check(fd >= 0);
	take(fd, UP);
	if (how == 'h')
		check(read(fd, data, 1) == 0);
	give(fd, DOWN);
	if (how == 's')
		shutdown(fd, SHUT_WR);
	read(fd, data, 1);
	shutdown(fd, SHUT_WR);
	gone(fd);
	_exit(0);
}

static void talk(int family, char how, const char *name)
{
	struct sockaddr_in6 a6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT}, at;
	struct sockaddr_in a4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	void *a = family == AF_INET6 ? (void *)&a6 : (void *)&a4;
	socklen_t size = family == AF_INET6 ? sizeof a6 : sizeof a4, n = sizeof at;
	int listener = socket(family, SOCK_STREAM, 0);

	check(bind(listener, a, size) == 0 && listen(listener, 1) == 0);
	getsockname(listener, a, &n);
	fflush(want);
	pid_t server = fork();
	if (server == 0)
		serve(listener, how);
	close(listener);
	int fd = socket(family, SOCK_STREAM, 0); /* the server has no part in it */
	check(connect(fd, a, size) == 0);
	n = sizeof at;
	getsockname(fd, (void *)&at, &n);
	fprintf(want, "%s %d %d %d %d\n", name, getpid(), ntohs(at.sin6_port), server,
		ntohs(family == AF_INET6 ? a6.sin6_port : a4.sin_port));
	give(fd, UP);
	if (how == 'h')
		shutdown(fd, SHUT_WR);
	take(fd, DOWN);
	if (how == 'r') {
		struct linger hard = {1, 0};
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
		close(fd);
	} else {
		if (how == 's')
			check(read(fd, data, 1) == 0);
		shutdown(fd, SHUT_WR);
		gone(fd);
	}
	waitpid(server, 0, 0);
}

int main(int argc, char **argv)
{
	alarm(60);
	check((want = fopen("want", "w")) != 0);
	int family = argc > 1 ? AF_INET6 : AF_INET;
	talk(family, 'c', "client");
	talk(family, 's', "server");
	talk(family, 'h', "half");
	talk(family, 'r', "reset");
	return 0;
}
