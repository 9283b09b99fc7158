package symbolize

import (
	"testing"
	"time"
)

// A look-up that waits for a file which does not answer ends by the word of
// another goroutine, at once, and is not as patient with that file again.
func TestEnough(t *testing.T) {
	u := NewUser()
	defer u.Close()
	enough, asked := make(chan struct{}), make(chan struct{})
	u.Enough = func() <-chan struct{} {
		close(asked)
		return enough
	}
	hang := make(chan struct{})
	defer close(hang)
	go func() {
		<-asked
		close(enough)
	}()
	u.mu.Lock()
	defer u.mu.Unlock()
	e := u.aside(func() func() {
		<-hang
		return func() {}
	})
	looked := 0
	begun := time.Now()
	u.complete(func() {
		looked++
		if !u.pending(e) {
			t.Error("the file answers")
		}
	})
	if waited := time.Since(begun); waited >= patience {
		t.Errorf("the look-up waited for %v", waited)
	}
	if looked != 1 || u.left.Late != 1 {
		t.Errorf("looked %d times, %d files were late, want 1 and 1", looked, u.left.Late)
	}
	if rest := patience - e.waited; rest != lastWords {
		t.Errorf("%v are left for the file, want %v", rest, lastWords)
	}
}
