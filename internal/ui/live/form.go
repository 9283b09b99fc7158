package live

// A Form is a view of a run that goes on, a value of -f.
type Form struct{ Name, Doc string }

// Plain and Terminal are all of them. A page in a browser has an option of its own, as it goes with any of -f.
var (
	Plain    = &Form{"plain", "tables every few seconds, for logs and screen readers"}
	Terminal = &Form{"tui", "the run in the terminal: tables, histograms, flame graphs to walk through"}
)

// Forms are all views.
func Forms() []*Form { return []*Form{Plain, Terminal} }
