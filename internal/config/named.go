package config

// Named has the values that the command line gives to the options that a script
// declares itself, by name.
type Named map[string]NamedValue

// NamedValue is the text of an option's value.
type NamedValue struct {
	Text string
	Bare bool // there was none: the option stood alone, and Text is "true"
}
