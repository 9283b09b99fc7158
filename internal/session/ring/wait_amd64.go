package ring

import "golang.org/x/sys/unix"

// As the C library waits, so that who traces calls sees those of any other tracer.
const sysEpollWait = unix.SYS_EPOLL_WAIT
