//go:build min

package strace

// NetlinkDecoded is not set here: messages of netlink are shown as bytes.
const NetlinkDecoded = false

func netlinkText() string { return "" }

func (d *decoder) conversation(uint64, int64) bool { return false }

func (d *decoder) interfaceName(index uint64) { d.uint(index) }
