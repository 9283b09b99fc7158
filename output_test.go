package hawk_test

import (
	"context"
	"strings"
	"testing"

	"github.com/hawktrace/hawk"
)

// An each is an Output that is a function.
type each func(*hawk.Event) error

func (f each) Write(e *hawk.Event) error { return f(e) }
func (f each) Flush() error              { return nil }

// TestWaitingOutput: an Output that would wait for the end of its own run is told so. All else
// works from there, and the end of other runs can be waited for.
func TestWaitingOutput(t *testing.T) {
	privileged(t)
	p, err := compile(t, `interval:ms:1 { @ = count(); print(1); }`, &hawk.CompileOptions{Take: true})
	if err != nil {
		t.Fatal(err)
	}
	other, err := compile(t, `begin { exit(4); }`, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, ask := range map[string]func(s *hawk.Session) error{
		"Close": func(s *hawk.Session) error { return s.Close() },
		"Wait":  func(s *hawk.Session) error { _, err := s.Wait(); s.Stop(); return err },
		"Events": func(s *hawk.Session) (err error) {
			for _, err = range s.Events() {
			}
			s.Stop()
			return err
		},
	} {
		var s *hawk.Session
		var got error
		started, asked := make(chan bool), false
		s, err := p.Start(context.Background(), &hawk.RunOptions{Output: each(func(e *hawk.Event) error {
			if e.Kind != hawk.Print || asked {
				return nil
			}
			<-started
			asked = true
			m, err := s.Map("@")
			if err != nil {
				return err
			}
			if _, err := m.Take(); err != nil {
				return err
			}
			if r, err := other.Run(context.Background(), nil); err != nil || r.Status != 4 {
				t.Errorf("%s: another run: %+v, %v", name, r, err)
			}
			got = ask(s)
			return nil
		})})
		if err != nil {
			t.Fatal(err)
		}
		close(started)
		r, err := s.Wait()
		if err != nil || r.Reason != hawk.Stopped {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if got == nil || !strings.Contains(got.Error(), "cannot wait for its end") {
			t.Errorf("%s: %v", name, got)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
