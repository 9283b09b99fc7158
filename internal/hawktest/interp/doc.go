// Package interp runs scripts the slow and simple way: it walks the checked
// tree with Go values where hawk itself compiles to eBPF. It is written from
// the specification of the language and shares nothing with the stages behind
// the type checker, so a difference between what it says and what the kernel
// prints is a mistake in one of the two.
//
// It knows begin and end probes and what can be said in them without looking
// at the machine: values of all widths, strings, tuples, variables, maps,
// aggregations, loops, printing. Package scriptgen makes up scripts of that kind.
package interp
