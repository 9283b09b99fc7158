// Command agent is the first process of a test VM. As process 1 it loads the modules beside it,
// mounts the file systems and then only collects orphans; a second instance of it runs the commands
// that the host sends.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	if os.Getpid() != 1 {
		fmt.Fprintln(os.Stderr, "agent:", serve())
		os.Exit(1)
	}
	if err := boot(); err != nil {
		fmt.Println("agent: boot:", err) // on the serial console, which the host shows when the agent does not answer
	}
	unix.Sync()
	unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}

// boot makes the VM a machine to run commands on, starts the command server and waits for its end.
func boot() error {
	os.Setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	os.Setenv("HOME", "/root")
	os.Setenv("LC_ALL", "C.UTF-8")
	if err := mountAll(mount{"devtmpfs", "/dev", ""}, mount{"proc", "/proc", ""},
		mount{"sysfs", "/sys", ""}); err != nil {
		return err
	}
	if err := loadModules("/modules"); err != nil {
		return err
	}
	if err := enterRoot(); err != nil {
		return err
	}
	if err := mountAll(
		mount{"devpts", "/dev/pts", "ptmxmode=666"}, mount{"tmpfs", "/dev/shm", ""},
		mount{"tmpfs", "/tmp", ""}, mount{"tmpfs", "/run", ""},
		mount{"cgroup2", "/sys/fs/cgroup", ""}, mount{"bpf", "/sys/fs/bpf", ""},
		mount{"securityfs", "/sys/kernel/security", ""},
		mount{"debugfs", "/sys/kernel/debug", ""}, mount{"tracefs", "/sys/kernel/tracing", ""},
	); err != nil {
		return err
	}
	// There is no udev to make these.
	for name, target := range map[string]string{"fd": "/proc/self/fd", "stdin": "fd/0",
		"stdout": "fd/1", "stderr": "fd/2"} {
		if err := os.Symlink(target, "/dev/"+name); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	if err := loopbackUp(); err != nil {
		return err
	}
	// The console belongs to this program's own errors.
	if err := os.WriteFile("/proc/sys/kernel/printk", []byte("1 4 1 1"), 0o644); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte("vm")); err != nil {
		return err
	}

	server, err := os.StartProcess("/proc/self/exe", []string{"agent"}, &os.ProcAttr{
		Env: os.Environ(), Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
	})
	if err != nil {
		return err
	}
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return fmt.Errorf("waiting for processes: %w", err)
		}
		if pid == server.Pid {
			return nil
		}
	}
}

// loadModules loads every file of dir in the order of the names, which the host numbered by
// dependency.
func loadModules(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, file := range files {
		f, err := os.Open(filepath.Join(dir, file.Name()))
		if err != nil {
			return err
		}
		err = unix.FinitModule(int(f.Fd()), "", 0)
		f.Close()
		if err != nil && err != unix.EEXIST {
			return fmt.Errorf("loading module %s: %w", file.Name(), err)
		}
	}
	return nil
}

// enterRoot stacks the read-only disks, later ones on top, below a file system in memory and makes
// the result the root.
func enterRoot() error {
	var lower []string
	for _, disk := range []string{"vda", "vdb"} {
		dev, dir := "/dev/"+disk, "/"+disk
		if err := waitFor(dev); err != nil {
			return err
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(dev, dir, "ext4", unix.MS_RDONLY, "noload"); err != nil {
			return fmt.Errorf("mounting %s: %w", dev, err)
		}
		lower = append([]string{dir}, lower...)
	}
	if err := mountAll(mount{"tmpfs", "/upper", "mode=755"}); err != nil {
		return err
	}
	for _, dir := range []string{"/upper/files", "/upper/work", "/new"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	options := "lowerdir=" + strings.Join(lower, ":") + ",upperdir=/upper/files,workdir=/upper/work"
	if err := unix.Mount("overlay", "/new", "overlay", 0, options); err != nil {
		return fmt.Errorf("mounting the root: %w", err)
	}
	if err := os.CopyFS("/new/hawk/modules", os.DirFS("/spare")); err != nil {
		return err
	}
	for _, dir := range []string{"/dev", "/proc", "/sys"} {
		if err := os.MkdirAll("/new"+dir, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(dir, "/new"+dir, "", unix.MS_MOVE, ""); err != nil {
			return fmt.Errorf("moving %s: %w", dir, err)
		}
	}
	if err := os.Chdir("/new"); err != nil {
		return err
	}
	if err := unix.Mount(".", "/", "", unix.MS_MOVE, ""); err != nil {
		return fmt.Errorf("moving the root: %w", err)
	}
	if err := unix.Chroot("."); err != nil {
		return fmt.Errorf("entering the root: %w", err)
	}
	return os.Chdir("/")
}

// A mount is a file system that cases expect.
type mount struct{ kind, dir, options string }

func mountAll(mounts ...mount) error {
	for _, m := range mounts {
		// Some directories are the kernel's own, as in sysfs, where nothing can be made.
		if err := os.MkdirAll(m.dir, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.kind, m.dir, m.kind, 0, m.options); err != nil && err != unix.EBUSY {
			return fmt.Errorf("mounting %s on %s: %w", m.kind, m.dir, err)
		}
	}
	return nil
}

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	req.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req)
}

// waitFor waits until a device file is there: drivers find their devices in their own time.
func waitFor(path string) error {
	for range 3000 {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("%s did not appear in 30 s", path)
}
