package opt

import (
	"testing"

	"github.com/hawktrace/hawk/internal/ir"
)

// TestNoted: each access of a block asks all that is noted, so that a record of thousands of fields
// must not be thousands of extents.
func TestNoted(t *testing.T) {
	record, sparse := &ir.Value{}, &ir.Value{}
	var later []extent
	for i := int64(9999); i >= 0; i-- {
		later = note(later, extent{record, 8 * i, 8})
	}
	if len(later) != 1 || !covered(later, record, 0, 80000) || covered(later, record, 0, 80001) {
		t.Fatalf("a record is %d extents, the first %+v", len(later), later[0])
	}
	later = unread(later, record, 40, 8)
	if covered(later, record, 40, 1) || !covered(later, record, 0, 40) || !covered(later, record, 48, 79952) {
		t.Errorf("behind a read of one field: %+v", later)
	}
	if off, n := uncovered(later, record, 0, 80000); off != 40 || n != 8 {
		t.Errorf("%d bytes at %d are left of it, want 8 at 40", n, off)
	}
	for i := range int64(10000) {
		later = note(later, extent{sparse, 16 * i, 8})
	}
	if len(later) > maxNoted || !covered(later, sparse, 16*9999, 8) {
		t.Errorf("%d extents are noted", len(later))
	}
}
