package arch

import "testing"

func TestSyscallNumbers(t *testing.T) {
	for _, tt := range []struct {
		arch, name string
		want       int
	}{
		{"amd64", "read", 0}, {"amd64", "newstat", 4}, {"amd64", "openat", 257}, {"amd64", "rseq", 334},
		{"amd64", "pidfd_send_signal", 424}, {"amd64", "clone3", 435}, {"amd64", "umount", 166},
		{"arm64", "io_setup", 0}, {"arm64", "openat", 56}, {"arm64", "newfstatat", 79}, {"arm64", "clone3", 435},
		{"amd64", "nosuch", -1}, {"amd64", "424:", -1}, {"mips", "read", -1},
	} {
		if got := SyscallNumber(tt.arch, tt.name); got != tt.want {
			t.Errorf("%s %s is %d, want %d", tt.arch, tt.name, got, tt.want)
		}
	}
}
