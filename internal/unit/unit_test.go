package unit

import (
	"os"
	"path/filepath"
	"testing"
)

// TestReadDisk takes disks by name and by file, and says what else a name is.
func TestReadDisk(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"devices/vda/vda1", "devices/loop0", "devices/cciss!c0d0"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "devices/vda/vda1/partition"), []byte("1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	class := filepath.Join(dir, "class")
	if err := os.Mkdir(class, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"vda", "vda/vda1", "loop0", "cciss!c0d0"} {
		if err := os.Symlink("../devices/"+name, filepath.Join(class, filepath.Base(name))); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ text, want, fails string }{
		{text: "vda", want: "vda"},
		{text: "/dev/loop0", want: "loop0"},
		{text: "cciss/c0d0", want: "cciss/c0d0"},
		{text: "vda1", fails: "vda1 is a partition; requests are those of its disk, vda"},
		{text: "lop0", fails: `no disk is called "lop0"; did you mean loop0?`},
		{text: "../class/vda", fails: `no disk is called "../class/vda"`},
		{text: "", fails: `no disk is called ""`},
	} {
		got, err := disk(class, tt.text)
		if text := errorText(err); got != tt.want || text != tt.fails {
			t.Errorf("%q: %q, %q", tt.text, got, text)
		}
	}
	if got, err := disk(filepath.Join(dir, "none"), "sda"); got != "sda" || err != nil {
		t.Errorf("without sysfs: %q, %v", got, err)
	}
}

// TestDevices finds network devices of all namespaces that processes are in, and believes any name where most
// processes are hidden.
func TestDevices(t *testing.T) {
	root := t.TempDir()
	const head = "Inter-|   Receive\n face |bytes\n"
	for name, text := range map[string]string{
		"proc/self/net/dev": head + "    lo: 12 3\n  eth0:123456 0\n",
		"proc/1/net/dev":    head + "    lo: 12 3\n  eth0:123456 0\n",
		"proc/17/net/dev":   head + "    lo: 0 0\n veth1: 0 0\n",
		"proc/2/comm":       "kthreadd\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for text, fails := range map[string]string{
		"eth0": "", "veth1": "",
		"eth1": `no network device is called "eth1": there are eth0, lo`,
	} {
		if err := device(root, text); errorText(err) != fails {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := os.Remove(filepath.Join(root, "proc/2/comm")); err != nil {
		t.Fatal(err)
	}
	if err := device(root, "eth1"); err != nil {
		t.Errorf("in a container: %v", err)
	}
}

func TestCPUNumbers(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "cpu12"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ text, number, fails string }{
		{"12", "12", ""},
		{"012", "12", ""},
		{"1", "", "there is no CPU 1"},
		{"-1", "", `"-1" is no number of a CPU`},
		{"0-3", "", `"0-3" is no number of a CPU`},
	} {
		if got, err := cpu(dir, tt.text); got != tt.number || errorText(err) != tt.fails {
			t.Errorf("%q: %q, %v", tt.text, got, err)
		}
	}
	if got, err := cpu(dir+"none", "7"); got != "7" || err != nil {
		t.Errorf("without a list: %q, %v", got, err)
	}
}

func TestNetworks(t *testing.T) {
	for text, right := range map[string]bool{
		"10.0.0.0/8": true, "10.1.2.3/8": true, "10.0.0.1": true, "0.0.0.0/0": true, "255.255.255.255/32": true,
		"10.0.0.0/33": false, "10.0.0/8": false, "1.2.3.4.5": false, "1.2.3.256": false, "10.0.0.0/": false,
		"::1": false, "::ffff:10.0.0.1": false, "fe80::/10": false, "x": false, "": false, "10.0.0.0/08": false,
	} {
		if got := isNetwork(text); got != right {
			t.Errorf("%q: %t", text, got)
		}
	}
}

func TestFileSystemNames(t *testing.T) {
	list := filepath.Join(t.TempDir(), "filesystems")
	if err := os.WriteFile(list, []byte("nodev\tproc\n\text3\n\text2\n\text4\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	mounts := filepath.Join(t.TempDir(), "mounts")
	if err := os.WriteFile(mounts, []byte("/dev/vda / ext4 rw 0 0\n\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ text, fails string }{
		{"ext4", ""},
		{"proc", ""},
		{"nfs", ""}, // whose module need not be loaded
		{"ext5", `no file system is called "ext5"; did you mean ext4?`},
		{"ext", `no file system is called "ext"; did you mean ext4?`},
		{"nodev", `no file system is called "nodev"`},
		{"", `no file system is called ""`},
		{"fuse.sshfs", "the kernel has fuse for every fuse, sshfs among them: give that"},
	} {
		got, err := fileSystem(list, mounts, tt.text)
		if text := errorText(err); text != tt.fails || err == nil && got != tt.text {
			t.Errorf("%q: %q, %q", tt.text, got, text)
		}
	}
	if got, err := fileSystem(list+"none", mounts, "ext5"); got != "ext5" || err != nil {
		t.Errorf("without a list: %q, %v", got, err)
	}
}

func TestTTYNames(t *testing.T) {
	for text, want := range map[string]string{
		"3": "3", "/dev/pts/12": "12", "pts/0": "0", "ttyS0": "ttyS0", "/dev/tty1": "tty1",
		"": "", "/dev/3": "", "-1": "", "+1": "", "1x": "", "pts/": "", "/dev/pts/ptmx": "", "tty/x": "", "null": "",
	} {
		got, err := terminal(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
