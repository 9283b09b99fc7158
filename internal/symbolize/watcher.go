package symbolize

// A Watcher tells which processes map executable files. It keeps nothing of them.
type Watcher struct{ recorder *recorder }

// NewWatcher begins to watch on the given CPUs. It takes the privileges of User.Watch.
func NewWatcher(cpus []int) (*Watcher, error) {
	r, err := newRecorder(cpus, true)
	if err != nil {
		return nil, err
	}
	return &Watcher{r}, nil
}

// Descriptors become readable when Read is due; they belong to w.
func (w *Watcher) Descriptors() []int { return w.recorder.descriptors() }

// Read calls f with each process that has mapped something since the last call, or replaced its program. With 0 it may
// have been any: the kernel had no room to say.
func (w *Watcher) Read(f func(pid int)) {
	w.recorder.read(func(e *event) {
		switch e.kind {
		case mapped, executed:
			f(e.pid)
		case lost:
			f(0)
		}
	})
}

// Close ends watching.
func (w *Watcher) Close() { w.recorder.close() }
