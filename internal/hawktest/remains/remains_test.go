package remains

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRemains compares the machine with what it was: the first run with a name in $HAWK_REMAINS
// writes that file, the next fails for what is there since.
func TestRemains(t *testing.T) {
	name := os.Getenv("HAWK_REMAINS")
	if name == "" {
		t.Skip("compares two moments of a machine on which nothing else happens")
	}
	text, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		// The file is one that is there afterwards.
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		before, err := Take()
		if err != nil {
			t.Fatal(err)
		}
		if text, err = json.Marshal(before); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	var before State
	if err := errors.Join(err, json.Unmarshal(text, &before)); err != nil {
		t.Fatal(err)
	}
	left, err := before.Since()
	if err != nil {
		t.Fatal(err)
	}
	for _, thing := range left {
		t.Errorf("left behind: %s", thing)
	}
}

func TestSuspicious(t *testing.T) {
	log := strings.Split(`<6>[    1.000000] random: crng init done
<4>[    2.000000] ------------[ cut here ]------------
<4>[    2.100000] clocksource: timekeeping watchdog on CPU0
<5>[    3.000000][  T112] ref_ctr going negative
<6>[    3.000000][  T112] uprobe: failed to unregister, leaking uprobe
<12>[    4.000000] a program's own words
<4>[    5.000000][   T99] WARNING: CPU: 0 PID: 5637 at fs/ext4/inode.c:460 ext4_check_map_extents_env+0xbc/0xd0
no message`, "\n")
	const cut, leak = "kernel log: ------------[ cut here ]------------",
		"kernel log: uprobe: failed to unregister, leaking uprobe"
	const ext4 = "kernel log: WARNING: CPU: 0 PID: 5637 at fs/ext4/inode.c:460 ext4_check_map_extents_env+0xbc/0xd0"
	if d := cmp.Diff([]string{cut, leak, ext4}, suspicious(log, true)); d != "" {
		t.Errorf("in a VM: %s", d)
	}
	if d := cmp.Diff([]string{leak}, suspicious(log, false)); d != "" {
		t.Errorf("elsewhere: %s", d)
	}
}
