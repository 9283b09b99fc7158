package bpf

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// PossibleCPUs is the number of values that per-CPU maps hold.
func PossibleCPUs() (int, error) {
	cpus, err := cpuFile("/sys/devices/system/cpu/possible")
	if err != nil {
		return 0, err
	}
	return cpus[len(cpus)-1] + 1, nil
}

// OnlineCPUs lists the CPUs that perf events can be opened on, ascending.
func OnlineCPUs() ([]int, error) { return cpuFile("/sys/devices/system/cpu/online") }

func cpuFile(path string) ([]int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	cpus, err := parseCPUs(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return cpus, nil
}

// parseCPUs reads a list such as "0-3,8", ascending.
func parseCPUs(s string) ([]int, error) {
	const most = 1 << 16
	var out []int
	for part := range strings.SplitSeq(s, ",") {
		first, last, isRange := strings.Cut(part, "-")
		lo, err := strconv.ParseUint(first, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("CPU list %q: %w", s, err)
		}
		hi := lo
		if isRange {
			if hi, err = strconv.ParseUint(last, 10, 16); err != nil {
				return nil, fmt.Errorf("CPU list %q: %w", s, err)
			}
		}
		if hi < lo || len(out) > 0 && int(lo) <= out[len(out)-1] || len(out) > most {
			return nil, fmt.Errorf("CPU list %q is out of order", s)
		}
		for c := lo; c <= hi; c++ {
			out = append(out, int(c))
		}
	}
	return out, nil
}
