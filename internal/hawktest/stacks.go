package hawktest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// printedStack is an element of a map whose key is a stack, as text shows it: the frames, then the
// count.
var printedStack = regexp.MustCompile(`(?ms)^@\w*\[\n(.*?)^\]: (\d+)$`)

// cmdShare counts the samples whose stacks match.
func cmdShare(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 4, "share STREAM REGEXP PERCENT N")
	percent, err := strconv.Atoi(args[2])
	ts.Check(err)
	least, err := strconv.Atoi(args[3])
	ts.Check(err)
	re, err := regexp.Compile(args[1])
	ts.Check(err)
	if err := shareOf(ts.ReadFile(args[0]), re, percent, least); err != nil {
		ts.Fatalf("%v", err)
	}
}

// shareOf says what is wrong if fewer than percent of the samples in a text have stacks that match,
// or there are fewer than least samples. A share is asked for, and not all: a sample may be of a
// moment in which a function is not complete.
func shareOf(text string, re *regexp.Regexp, percent, least int) error {
	all, good := 0, 0
	var others strings.Builder
	for _, m := range printedStack.FindAllStringSubmatch(text, -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil {
			return err
		}
		all += n
		if re.MatchString(m[1]) {
			good += n
		} else {
			fmt.Fprintf(&others, "%d times:\n%s", n, m[1])
		}
	}
	switch {
	case all < least:
		return fmt.Errorf("there are %d samples, want %d", all, least)
	case all-good > (all*(100-percent)+99)/100: // rounded up: a sample is a whole one
		return fmt.Errorf("of %d samples, %d match %s, want %d %%; others are\n%s", all, good, re, percent, &others)
	}
	return nil
}
