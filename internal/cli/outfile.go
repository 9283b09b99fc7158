package cli

import (
	"fmt"
	"os"

	"github.com/hawktrace/hawk/internal/errno"
)

// An outFile is the file of -o. It is opened early, so that a wrong name shows
// at once, and keeps what it holds until there is something to replace it.
type outFile struct {
	*os.File
}

func openOut(name string) (*outFile, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return nil, fmt.Errorf("Failed to open output file: %q: %s", name, errno.Reason(err))
	}
	return &outFile{f}, nil
}

// empty cuts the file to nothing. Pipes and devices have nothing to cut.
func (f *outFile) empty() error {
	st, err := f.Stat()
	if err == nil && st.Mode().IsRegular() {
		err = f.Truncate(0)
	}
	if err != nil {
		return fmt.Errorf("Failed to open output file: %q: %s", f.Name(), errno.Reason(err))
	}
	return nil
}

// done closes the file; what the system could not write it may say only then.
func (f *outFile) done() error {
	if err := f.Close(); err != nil {
		return fmt.Errorf("cannot write output file %q: %s", f.Name(), errno.Reason(err))
	}
	return nil
}
