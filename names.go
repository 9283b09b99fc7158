package hawk

import "strconv"

// Names of numbers, as they are written in Go. Those of each list are counted where it is declared, so that one that is
// forgotten does not build.
var (
	severityNames = [...]string{Error: "Error", Warning: "Warning", Bug: "Bug"}
	kindNames     = [...]string{Print: "Print", Printf: "Printf", Text: "Text", MapPrint: "MapPrint", Lost: "Lost",
		RuntimeError: "RuntimeError", Attached: "Attached", End: "End"}
	overflowNames = [...]string{Block: "Block", DropNewest: "DropNewest"}
	reasonNames   = [...]string{Exited: "Exited", Stopped: "Stopped", Cancelled: "Cancelled",
		ProcessEnded: "ProcessEnded", OverBudget: "OverBudget"}
	typeKindNames = [...]string{NoType: "NoType", IntType: "IntType", BoolType: "BoolType", EnumType: "EnumType",
		PointerType: "PointerType", StringType: "StringType", BytesType: "BytesType", ArrayType: "ArrayType",
		TupleType: "TupleType", RecordType: "RecordType", StructType: "StructType", StackType: "StackType",
		TextType: "TextType", AggregationType: "AggregationType"}
)

// Each array has as many names as the list has numbers.
var (
	_ [len(severityNames)]struct{} = [severities]struct{}{}
	_ [len(kindNames)]struct{}     = [eventKinds]struct{}{}
	_ [len(overflowNames)]struct{} = [overflows]struct{}{}
	_ [len(reasonNames)]struct{}   = [reasonCount]struct{}{}
	_ [len(typeKindNames)]struct{} = [typeKinds]struct{}{}
)

// nameOf is the name of a number. One without a name is shown with its type.
func nameOf(names []string, n int, typ string) string {
	if n < 0 || n >= len(names) || names[n] == "" {
		return typ + "(" + strconv.Itoa(n) + ")"
	}
	return names[n]
}

// String is the name of the severity: Error, Warning or Bug.
func (s Severity) String() string { return nameOf(severityNames[:], int(s), "Severity") }

// String is the name of the kind, such as Print.
func (k Kind) String() string { return nameOf(kindNames[:], int(k), "Kind") }

// String is the name of what happens: Block or DropNewest.
func (o Overflow) String() string { return nameOf(overflowNames[:], int(o), "Overflow") }

// String is the name of the reason, such as Stopped.
func (r Reason) String() string { return nameOf(reasonNames[:], int(r), "Reason") }

// String is the name of the kind, such as IntType.
func (k TypeKind) String() string { return nameOf(typeKindNames[:], int(k), "TypeKind") }
