package exe

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/hawktrace/hawk/internal/hawktest/bound"
)

// A name that says of each part that it is twice in the next one stands for a
// text that no memory holds.
func TestDemangleDoubling(t *testing.T) {
	name := "_Z1fN1a1bE"
	for i := range 300 {
		again := "S" + strings.ToUpper(strconv.FormatInt(int64(2*i), 36)) + "_"
		name += fmt.Sprintf("1tI%s%sE", again, again)
	}
	bound.Run(t, len(name), func() {
		for _, s := range []string{Demangle(name), DemangleName(name)} {
			if len(s) > 64<<10 || !strings.HasPrefix(s, "f") {
				t.Errorf("%d bytes: %.40s", len(s), s)
			}
		}
	})
}
