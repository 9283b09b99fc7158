// Package progress shows on a terminal how far a long step has come.
package progress

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// A progress shows on a terminal how far something that takes long has come,
// in one line that is overwritten and in the end erased. What takes less than
// a second shows nothing.
type progress struct {
	Done atomic.Int64

	w     io.Writer
	verb  string
	total int64
	began time.Time
	stop  chan struct{}
	ended sync.WaitGroup
}

const (
	progressAfter = time.Second
	progressEvery = 200 * time.Millisecond
	eraseLine     = "\r\x1b[K"
)

// Start begins to show; w is nil if nobody is to see it.
func Start(w io.Writer, verb string, total int) *progress {
	p := &progress{w: w, verb: verb, total: int64(total), began: time.Now(), stop: make(chan struct{})}
	if w != nil {
		p.ended.Go(p.show)
	}
	return p
}

// show writes the line again and again until it is stopped, and erases it.
func (p *progress) show() {
	next := time.NewTimer(progressAfter)
	defer next.Stop()
	for shown := false; ; {
		select {
		case <-next.C:
			io.WriteString(p.w, eraseLine+p.line(time.Since(p.began)))
			shown = true
			next.Reset(progressEvery)
		case <-p.stop:
			if shown {
				io.WriteString(p.w, eraseLine)
			}
			return
		}
	}
}

// line has no number done while the one call of the kernel that does all has
// not returned.
func (p *progress) line(since time.Duration) string {
	seconds := int(since / time.Second)
	if n := p.Done.Load(); n > 0 {
		return fmt.Sprintf("%s %d of %d probes (%d s)", p.verb, n, p.total, seconds)
	}
	return fmt.Sprintf("%s %d probes (%d s)", p.verb, p.total, seconds)
}

// End stops showing and clears the line.
func (p *progress) End() {
	close(p.stop)
	p.ended.Wait()
}
