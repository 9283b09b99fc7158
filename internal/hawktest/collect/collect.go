// Package collect keeps what a running program prints, for those who look at it before the program
// has ended.
package collect

import (
	"bytes"
	"sync"
)

// An Output collects a stream. Its zero value is empty and ready; it may be written and read at the
// same time.
type Output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write adds to the output.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

// String returns all that has come so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}
