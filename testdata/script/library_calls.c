#include <ctype.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static jmp_buf place;

int compare(const void *a, const void *b) { return strcmp(*(char *const *)b, *(char *const *)a); }
static int leave(const void *a, const void *b) { longjmp(place, a != b); }

int main(int argc, char **argv)
{
	char *words[] = {"a", "c"}, buf[64];
	puts("hello\tworld");
	char *m = malloc(1000);
	strcpy(m, "some text that is longer than thirty two characters");
	free(m);
	snprintf(buf, sizeof buf, "%d %s %c %lx %% %d %d %d %g", -3, "word", 'x', 0x123456789abUL, 4, 5, 6, 1.25);
	getenv("NOSUCH_VARIABLE");
	qsort(words, 2, sizeof *words, compare);
	open("nonexistent/file", O_RDWR | O_CREAT, 0640);
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	if (read(fd, buf, 3) != 3)
		return 1;
	close(fd);
	if (atoi("12") != 12)
		return 2;
	strdup("\033[0m\001");
	if (!setjmp(place))
		qsort(words, 2, sizeof *words, leave);
	toupper('a');
	strerror(2);
	if (argc > 1 && !strcmp(argv[1], "fork")) {
		if (fork() == 0) {
			puts("child");
			exit(3);
		}
		wait(0);
	}
	exit(7);
}
