package hawktest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// scratchSize is the size of a scratch disk in bytes; that of a VM is as large.
const scratchSize = 64 << 20

// cmdScratch makes a disk that the case may write to. It is gone when the case ends.
func cmdScratch(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 1, "scratch NAME")
	disk, release, err := scratch(ts.MkAbs("."))
	ts.Check(err)
	ts.Defer(release)
	ts.Setenv(args[0], disk)
}

// probeScratch makes one, as a container may have loop devices and not be let use them.
func probeScratch() error {
	dir, err := os.MkdirTemp("", "hawkdisk")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	_, release, err := scratch(dir)
	if err == nil {
		release()
	}
	return err
}

// scratch is the device of a disk to write to: in a VM the one that it has for that, else a loop
// device of a file in dir. The VM's other disk is the root, which is read-only.
func scratch(dir string) (device string, release func(), err error) {
	if !InVM() {
		return loopDisk(filepath.Join(dir, "scratch.img"))
	}
	disks, _ := filepath.Glob("/sys/block/vd*")
	for _, d := range disks {
		if ro, err := os.ReadFile(filepath.Join(d, "ro")); err == nil && strings.TrimSpace(string(ro)) == "0" {
			return "/dev/" + filepath.Base(d), func() {}, nil
		}
	}
	return "", nil, errors.New("no disk can be written to")
}

// loopDisk makes a file a disk. The kernel takes the disk away with the last descriptor of it, even
// if the tests are killed.
func loopDisk(path string) (device string, release func(), err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", nil, err
	}
	defer file.Close()
	if err := file.Truncate(scratchSize); err != nil {
		return "", nil, err
	}
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return "", nil, err
	}
	defer control.Close()
	for {
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return "", nil, fmt.Errorf("finding a loop device: %w", err)
		}
		device = fmt.Sprintf("/dev/loop%d", n)
		loop, err := os.OpenFile(device, os.O_RDWR, 0)
		if err != nil {
			return "", nil, err
		}
		err = unix.IoctlLoopConfigure(int(loop.Fd()), &unix.LoopConfig{
			Fd: uint32(file.Fd()), Info: unix.LoopInfo64{Flags: unix.LO_FLAGS_AUTOCLEAR},
		})
		if err == nil {
			return device, func() { loop.Close() }, nil
		}
		loop.Close()
		if !errors.Is(err, unix.EBUSY) { // another one was faster
			return "", nil, fmt.Errorf("making %s a disk: %w", device, err)
		}
	}
}
