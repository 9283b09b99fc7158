package ring

import "golang.org/x/sys/unix"

// There is no epoll_wait; without a set of signals this is the same.
const sysEpollWait = unix.SYS_EPOLL_PWAIT
