package session

import (
	"sync"
	"sync/atomic"

	"github.com/hawktrace/hawk/internal/symbolize"
)

// symbols are the symbolizers of a Session, made when they are first needed. Names
// may be asked for from any goroutine.
type symbols struct {
	kernel atomic.Pointer[symbolize.Kernel]
	user   atomic.Pointer[symbolize.User]
	run    atomic.Pointer[session] // whose patience counts; nil before it begins

	mu   sync.Mutex
	bad  []error // debug information that cannot be used, to be reported
	news atomic.Bool
}

// known is the symbolizer for processes, nil if it was not needed so far.
func (y *symbols) known() *symbolize.User { return y.user.Load() }

func (y *symbols) close() {
	if k := y.kernel.Load(); k != nil {
		k.Close()
	}
	if u := y.user.Load(); u != nil {
		u.Close()
	}
}

// complain notes debug information that cannot be used: names are found while
// an item is being written.
func (y *symbols) complain(err error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.bad = append(y.bad, err)
	y.news.Store(true)
}

// complaints yields what was noted since the last time.
func (y *symbols) complaints() []error {
	if !y.news.Load() {
		return nil
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	out := y.bad
	y.bad = nil
	y.news.Store(false)
	return out
}

// kernelSymbols is the symbolizer of the kernel, made when it is first needed.
func (s *session) kernelSymbols() *symbolize.Kernel {
	y := s.symbols
	if k := y.kernel.Load(); k != nil {
		return k
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	k := y.kernel.Load()
	if k == nil {
		k = symbolize.NewKernel(s.o.Probe.Machine)
		k.DebugInfo(y.complain)
		y.kernel.Store(k)
	}
	return k
}

// forgetful is the setting of cache_user_symbols that has no process be
// remembered. The others say how tables are shared, which hawk does by file.
const forgetful = "NONE"

// userSymbols is the symbolizer of processes, made when it is first needed.
func (s *session) userSymbols() *symbolize.User {
	y := s.symbols
	if u := y.user.Load(); u != nil {
		return u
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	if u := y.user.Load(); u != nil {
		return u
	}
	u := symbolize.NewUser()
	u.DebugInfo(s.o.Probe.Machine.DebugDirs, y.complain)
	u.Demangle = s.o.Config.CppDemangle
	u.Enough = func() <-chan struct{} {
		if r := y.run.Load(); r != nil {
			return r.patient().Done()
		}
		return nil
	}
	u.Forgetful = s.o.Config.CacheUserSymbols == forgetful
	for _, path := range s.programs() {
		u.AddProgram(path)
	}
	y.user.Store(u)
	return u
}
