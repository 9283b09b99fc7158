#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Listens on an address of loopback, connects to it and accepts; then connects to the port
   once nobody listens there. */
static void meet(int family, const char *address, int server, const char *bound, int backlog)
{
	struct sockaddr_in6 a6 = {.sin6_family = AF_INET6}, at;
	struct sockaddr_in a4 = {.sin_family = AF_INET};
	socklen_t n = sizeof(at);
	int s = socket(server, SOCK_STREAM, 0), c = socket(family, SOCK_STREAM, 0), a;

	inet_pton(AF_INET6, family == AF_INET6 ? address : bound, &a6.sin6_addr);
	inet_pton(AF_INET, address, &a4.sin_addr);
	if (server == AF_INET6)
		inet_pton(AF_INET6, bound, &a6.sin6_addr);
	if (bind(s, server == AF_INET6 ? (void *)&a6 : (void *)&a4, server == AF_INET6 ? sizeof(a6) : sizeof(a4)))
		exit(1);
	listen(s, backlog);
	getsockname(s, (void *)&at, &n);
	a4.sin_port = a6.sin6_port = at.sin6_port; /* at the same place in both */
	if (family == AF_INET6)
		inet_pton(AF_INET6, address, &a6.sin6_addr);
	if (connect(c, family == AF_INET6 ? (void *)&a6 : (void *)&a4, family == AF_INET6 ? sizeof(a6) : sizeof(a4)))
		exit(2);
	n = sizeof(at);
	getsockname(c, (void *)&at, &n);
	a = accept(s, NULL, NULL);
	printf("want %s %d %d\n", address, ntohs(at.sin6_port), ntohs(a4.sin_port));
	fflush(stdout);
	close(c);
	close(a);
	close(s);
	c = socket(family, SOCK_STREAM, 0);
	connect(c, family == AF_INET6 ? (void *)&a6 : (void *)&a4, family == AF_INET6 ? sizeof(a6) : sizeof(a4));
	close(c);
}

int main(int argc, char **argv)
{
	int six = argc > 1, u = socket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_in dns = {.sin_family = AF_INET, .sin_port = htons(53)};

	inet_pton(AF_INET, "127.0.0.1", &dns.sin_addr);
	connect(u, (void *)&dns, sizeof(dns)); /* no TCP: not shown */
	for (int i = 0; i < 3; i++)
		meet(AF_INET, "127.0.0.1", AF_INET, "127.0.0.1", 5 + i);
	if (six) {
		meet(AF_INET6, "::1", AF_INET6, "::1", 9);
		meet(AF_INET, "127.0.0.2", AF_INET6, "::", 10);
	}
	return 0;
}
