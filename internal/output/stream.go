package output

import (
	"bytes"
	"fmt"
	"io"

	"github.com/hawktrace/hawk/internal/value"
)

// Buffering says when text reaches the output.
type Buffering uint8

// The buffering modes. Lines written while a batch of events is handled go
// out together at the end of the batch.
const (
	LineBuffered Buffering = iota
	FullyBuffered
	Unbuffered
)

// maxBuffer is when text is written out in any mode, in bytes.
const maxBuffer = 64 << 10

// A stream buffers the output. Its methods after a failed write do nothing and
// report the failure again.
// All sinks write through one, which knows nothing of items.
type stream struct {
	w    io.Writer
	mode Buffering
	buf  []byte
	line bool // a newline stands in buf
	json bool // it is JSON for a terminal
	err  error
}

// wrote is called after text was appended to buf from offset start.
func (s *stream) wrote(start int) error {
	if s.mode == LineBuffered && !s.line {
		s.line = bytes.IndexByte(s.buf[start:], '\n') >= 0
	}
	if s.mode == Unbuffered || len(s.buf) >= maxBuffer {
		return s.flush()
	}
	return s.err
}

// idle writes out complete lines, if lines are what is buffered.
func (s *stream) idle() error {
	if s.mode == LineBuffered && s.line {
		return s.flush()
	}
	return s.err
}

// flush writes out everything. The text is gone in any case: after an error nothing is written
// again.
func (s *stream) flush() error {
	if s.err == nil && len(s.buf) > 0 {
		text := s.buf
		if s.json {
			text = value.EscapeJSON(text)
		}
		if _, err := s.w.Write(text); err != nil {
			s.err = fmt.Errorf("cannot write output: %w", err)
		}
	}
	s.buf, s.line = s.buf[:0], false
	if cap(s.buf) > 16*maxBuffer {
		s.buf = nil // one huge map must not hold its memory for the rest of the run
	}
	return s.err
}
