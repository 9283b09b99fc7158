package hawk_test

import (
	"fmt"
	"testing"

	"github.com/hawktrace/hawk"
)

// TestNames prints the numbers of the API.
func TestNames(t *testing.T) {
	got := fmt.Sprintln(hawk.Error, hawk.Warning, hawk.Bug, hawk.Severity(7)) +
		fmt.Sprintln(hawk.Print, hawk.Printf, hawk.Text, hawk.MapPrint, hawk.Lost, hawk.RuntimeError, hawk.Attached,
			hawk.End, hawk.Kind(0), hawk.Kind(-1), hawk.Kind(99)) +
		fmt.Sprintln(hawk.Block, hawk.DropNewest, hawk.Overflow(2)) +
		fmt.Sprintln(hawk.Exited, hawk.Stopped, hawk.Cancelled, hawk.ProcessEnded, hawk.OverBudget, hawk.Reason(5)) +
		fmt.Sprintln(hawk.NoType, hawk.IntType, hawk.AggregationType, hawk.TypeKind(-3))
	want := "Error Warning Bug Severity(7)\n" +
		"Print Printf Text MapPrint Lost RuntimeError Attached End Kind(0) Kind(-1) Kind(99)\n" +
		"Block DropNewest Overflow(2)\n" +
		"Exited Stopped Cancelled ProcessEnded OverBudget Reason(5)\n" +
		"NoType IntType AggregationType TypeKind(-3)\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
