// Package unit reads values of options of tools, by what the value is called: a TIME, BYTES, a USER.
package unit

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/hawktrace/hawk/internal/arch"
	"github.com/hawktrace/hawk/internal/cdef"
	"github.com/hawktrace/hawk/internal/errno"
)

// Read is the value that a script gets of an option whose value is called unit: a
// TIME in nanoseconds, BYTES as their number, a USER or ERRNO as the number, a SIG as its bit, a
// DISK as the kernel calls it. A DEVICE, an IP, a NET and a PORT are checked. What else it is called, the script has
// the text.
func Read(unit, doc, text string) (string, error) {
	switch unit {
	case "TIME":
		d, err := duration(text, doc)
		return strconv.FormatInt(int64(d), 10), err
	case "BYTES":
		return size(text)
	case "USER":
		return User(text)
	case "SIG":
		return signal(text)
	case "ERRNO":
		return errorNumber(text)
	case "DISK":
		return disk("/sys/class/block", text)
	case "DEVICE":
		return text, device("", text)
	case "FS":
		return fileSystem("/proc/filesystems", "/proc/mounts", text)
	case "TTY":
		return terminal(text)
	case "CPU":
		return cpu("/sys/devices/system/cpu", text)
	case "IP":
		if a, err := netip.ParseAddr(text); err != nil || a.Zone() != "" {
			return "", fmt.Errorf("\"%s\" is no IP address", text)
		}
	case "NET":
		if !isNetwork(text) {
			return "", fmt.Errorf("\"%s\" is no network of IPv4: these are written as 10.0.0.0/8, or 10.0.0.1", text)
		}
	case "PORT":
		if _, err := strconv.ParseUint(text, 10, 16); err != nil {
			return "", fmt.Errorf("\"%s\" is no port: these are numbers up to 65535", text)
		}
	}
	if prefix, ok := strings.CutSuffix(unit, Flag); ok {
		return flag(prefix, text)
	}
	return text, nil
}

// Spec is what the value of an option is called that is a notation with commas of its own.
const Spec = "SPEC"

// Flag ends what the value of an option is called that is a constant of the C
// headers: O_FLAG.
const Flag = "_FLAG"

// flag is the number of a constant, which may be written without the prefix.
func flag(prefix, text string) (string, error) {
	name := strings.ToUpper(text)
	if !strings.HasPrefix(name, prefix+"_") {
		name = prefix + "_" + name
	}
	value, ok := cdef.Constant(name, arch.Native().Name)
	if !ok {
		var names []string
		for _, c := range cdef.Constants(prefix+"_", "", arch.Native().Name) {
			names = append(names, c.Name)
		}
		return "", near("no constant is called \""+name+"\"", name, names)
	}
	return strconv.FormatUint(value, 10), nil
}

// errorNumber is the number of an error, which may be given by name. 4095 is the largest that the
// kernel can return.
func errorNumber(text string) (string, error) {
	if n, err := strconv.ParseUint(text, 10, 12); err == nil && n > 0 {
		return text, nil
	}
	value, ok := cdef.Constant(strings.ToUpper(text), arch.Native().Name)
	if !ok || !strings.HasPrefix(strings.ToUpper(text), "E") || value > 4095 {
		return "", near("\""+text+"\" is no error like 2 or ENOENT", strings.ToUpper(text), errno.Names())
	}
	return strconv.FormatUint(value, 10), nil
}

// words are the words by which the text of an option says what a plain number is.
var words = map[string]string{
	"s": "s", "second": "s", "seconds": "s", "ms": "ms", "milliseconds": "ms", "us": "us", "microseconds": "us",
	"ns": "ns", "nanoseconds": "ns",
}

// duration reads a number with a unit, or one in the unit that doc names, seconds if it
// names none.
func duration(text, doc string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		unit := "s"
		for word := range strings.FieldsFuncSeq(doc, func(r rune) bool { return r < 'a' || r > 'z' }) {
			if u, ok := words[word]; ok {
				unit = u
				break
			}
		}
		d, err = time.ParseDuration(text + unit)
	}
	if err != nil || d < 0 {
		return 0, fmt.Errorf("\"%s\" is no time like 10, 10s or 500ms", text)
	}
	return d, nil
}

// size reads a size, with K, M or G for powers of 1024.
func size(text string) (string, error) {
	digits, shift := text, 0
	for i, letters := range []string{"kK", "mM", "gG"} {
		if cut := strings.TrimRight(text, letters); cut != text && len(text)-len(cut) == 1 {
			digits, shift = cut, 10*(i+1)
		}
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	// A size of which the shift loses bits is none.
	if err != nil || n<<shift>>shift != n {
		return "", fmt.Errorf("\"%s\" is no size like 4096, 4K or 1M", text)
	}
	return strconv.FormatUint(n<<shift, 10), nil
}
