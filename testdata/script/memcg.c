// A process of a group with 8 MB of memory wants more, and is killed. Its parent waits, and says who it
// was. The group is one of cgroup2, or of the older kind where memory is given to that.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int put(const char *dir, const char *name, const char *text)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	int fd = open(path, O_WRONLY);
	int ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	if (fd >= 0)
		close(fd);
	return ok;
}

// hungry asks for 32 MB, a page at a time.
static void hungry(void)
{
	char *at = mmap(NULL, 32 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; at != MAP_FAILED && i < 32 << 20; i += 4096)
		at[i] = 1;
	_exit(3);
}

int main(void)
{
	char group[64];
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return perror("mount namespace"), 1;
	mkdir("groups", 0700);
	snprintf(group, sizeof(group), "groups/hawk-%d", getpid());
	int newer = !mount("none", "groups", "cgroup2", 0, NULL) && put("groups", "cgroup.subtree_control", "+memory");
	if (!newer) {
		umount("groups");
		if (mount("none", "groups", "cgroup", 0, "memory"))
			return perror("no groups with memory"), 1;
	}
	if (mkdir(group, 0700) || !put(group, newer ? "memory.max" : "memory.limit_in_bytes", "8388608"))
		return perror(group), 1;
	put(group, newer ? "memory.swap.max" : "memory.swappiness", "0");
	pid_t child = fork();
	if (child == 0) {
		if (!put(group, "cgroup.procs", "0"))
			_exit(2);
		hungry();
	}
	int status = 0;
	waitpid(child, &status, 0);
	printf("killed %d\n", child);
	while (rmdir(group) && errno == EBUSY)
		usleep(1000);
	return !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}
