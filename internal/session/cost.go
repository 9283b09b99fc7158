package session

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hawktrace/hawk/internal/bpf"
	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/order"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

// A meter knows what the programs of the run cost, by the kernel's own
// measurement. The kernel measures while somebody asks for that, at some 50 ns
// for each run of each program of the machine.
type meter struct {
	stats   int // descriptor that is open while hawk asks, -1 else
	began   time.Time
	helpers []metered   // programs beside those of the script
	costly  atomic.Bool // the budget was exceeded for as long as it may be
	spent   float64     // percent of a CPU, in that time; read once costly is set
	stop    func()

	glimpse struct {
		at   time.Time // of the first look; zero: none yet
		runs []bpf.ProgRuns
		over bool
	}
}

// A metered is a program by the name that the report has for it.
type metered struct {
	name string
	fd   int
}

const (
	budgetEvery = time.Second
	budgetMost  = 3 // looks in a row that may find too much

	manySites = 10_000
	often     = 1_000_000 // runs a second that are worth a word
)

// startMeter has the kernel measure, if the user asked for that.
func (s *session) startMeter() error {
	if !s.measures() {
		return nil
	}
	option := ""
	switch {
	case s.o.MaxOverhead > 0:
		option = "--max-overhead"
	case s.probeStats() != nil:
		option = "--probe-stats"
	}
	if err := s.meter.open(); err != nil && option != "" {
		return fmt.Errorf("%s: the kernel does not measure programs: %s; it needs Linux 5.8 and CAP_SYS_ADMIN", option,
			errno.Reason(err))
	}
	return nil
}

// measures reports whether the user asked for what programs cost.
func (s *session) measures() bool { return s.o.MaxOverhead > 0 || s.o.Verbose || s.probeStats() != nil }

// probeStats is the map of what programs cost, nil if no view shows it.
func (s *session) probeStats() *view.Map {
	if s.watcher == nil {
		return nil
	}
	return s.watcher.script.Map(view.ProbeStats)
}

// costs is the map of what programs cost as it is now.
func (s *session) costs(m *view.Map) view.Snapshot {
	snap := view.Snapshot{Map: m, Seq: s.watcher.costs.Add(1), Start: bootTime(), Totals: true, Complete: true}
	var rows []view.Row
	for _, c := range s.measured() {
		rows = append(rows, view.Row{Key: value.Str(c.name),
			Value: value.Avg{Count: int64(c.Runs), Total: int64(c.Nanos)}})
	}
	snap.Rows, snap.End = view.RowsOf(rows), bootTime()
	return snap
}

// open has the kernel measure programs (BPF_ENABLE_STATS, Linux 5.8) until the descriptor is
// closed.
func (m *meter) open() error {
	fd, err := bpf.EnableStats()
	if err != nil {
		return err
	}
	m.stats, m.began = fd, time.Now()
	return nil
}

// close ends the looks and the measurement.
func (m *meter) close() {
	if m.stop != nil {
		m.stop()
		m.stop = nil
	}
	if m.stats >= 0 {
		unix.Close(m.stats)
		m.stats = -1
	}
}

// watchBudget looks at the cost every second and ends the run if it is too
// much. It does not depend on the reader, which may wait for its output.
func (s *session) watchBudget() {
	if s.o.MaxOverhead <= 0 {
		return
	}
	// ended lets stop wait: the programs are closed next.
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(budgetEvery)
		defer tick.Stop()
		over, first, began := 0, s.nanos(), time.Now()
		last, at := first, began
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			now, nanos := time.Now(), s.nanos()
			// One second of little is enough to begin anew: what counts is a row of looks.
			if percent(nanos-last, now.Sub(at)) <= s.o.MaxOverhead {
				over, first, began = 0, nanos, now
			} else if over++; over == budgetMost {
				s.meter.spent = percent(nanos-first, now.Sub(began))
				s.meter.costly.Store(true)
				s.wake()
				return
			}
			last, at = nanos, now
		}
	}()
	s.meter.stop = func() { close(done); <-ended }
}

// percent is how much of one CPU a time is.
func percent(nanos uint64, in time.Duration) float64 {
	return 100 * float64(nanos) / float64(max(in, 1))
}

// nanos is what all programs of the run took so far.
func (s *session) nanos() (sum uint64) {
	for _, fd := range s.Programs {
		if m, err := bpf.Measured(fd); err == nil {
			sum += m.Nanos
		}
	}
	for _, p := range s.meter.helpers {
		if m, err := bpf.Measured(p.fd); err == nil {
			sum += m.Nanos
		}
	}
	return sum
}

// announceSites warns before very much is attached.
func (s *session) announceSites(sites int) {
	if s.o.Announce && sites > manySites {
		s.Warnf(source.Span{}, "%s functions are about to be traced, each of their calls takes longer from now on",
			view.Grouped(sites))
	}
}

// announceHot says which programs run very often, once the run is so old that
// it is worth a look. How often something happens is not known before it is
// counted, so the kernel measures for the time between two ticks.
func (s *session) announceHot(now time.Time) {
	g := &s.meter.glimpse
	switch {
	case !s.o.Announce || g.over:
	case g.at.IsZero():
		if !slices.ContainsFunc(s.Object.Programs, untimed) || s.meter.stats < 0 && s.meter.open() != nil {
			g.over = true
			return
		}
		g.at, g.runs = now, s.runsOfAll()
	default:
		g.over = true
		runs := s.runsOfAll()
		if !s.measures() {
			s.meter.close()
		}
		took := now.Sub(g.at)
		for i, r := range runs {
			n := r.Runs - g.runs[i].Runs
			if rate := float64(n) / took.Seconds(); rate >= cmp.Or(s.o.Often, often) {
				s.Warnf(source.Span{}, "%s fires %s times a second, which takes %.0f %% of a CPU; --max-overhead "+
					"sets a limit",
					s.Message(value.Text(s.programName(i))), view.Grouped(uint64(rate)),
					percent(r.Nanos-g.runs[i].Nanos, took))
			}
		}
	}
}

// untimed reports whether only the machine knows how often a program runs.
func untimed(p *object.Program) bool {
	k := p.Group.Points[0].Kind
	return k.Ours == probe.NotOurs && !k.Rated
}

// runsOfAll is what was measured of the programs, of those that are untimed.
func (s *session) runsOfAll() []bpf.ProgRuns {
	out := make([]bpf.ProgRuns, len(s.Programs))
	for i, fd := range s.Programs {
		if untimed(s.Object.Programs[i]) {
			out[i], _ = bpf.Measured(fd)
		}
	}
	return out
}

// programName names what a program is attached to.
func (s *session) programName(i int) string {
	points := s.Object.Programs[i].Group.Points
	if n := len(points) - 1; n > 0 {
		return fmt.Sprintf("%s and %d more", points[0].Name(), n)
	}
	return points[0].Name()
}

// A cost is what the programs of a probe took.
type cost struct {
	name string
	bpf.ProgRuns
}

// measured is what was measured of all programs that ran.
func (s *session) measured() (rows []cost) {
	add := func(name string, fd int) {
		m, err := bpf.Measured(fd)
		if err != nil || m.Runs == 0 {
			return
		}
		i := slices.IndexFunc(rows, func(r cost) bool { return r.name == name }) // a probe may have several programs
		if i < 0 {
			i, rows = len(rows), append(rows, cost{name: name})
		}
		rows[i].Runs += m.Runs
		rows[i].Nanos += m.Nanos
	}
	for i, fd := range s.Programs {
		add(s.programName(i), fd)
	}
	for _, p := range s.meter.helpers {
		add(p.name, p.fd)
	}
	return rows
}

// reportCost says what each probe cost, if that was measured for the user.
func (s *session) reportCost() {
	if s.meter.stats < 0 || !s.meter.costly.Load() && !s.o.Verbose || s.o.DryRun {
		return
	}
	took := time.Since(s.meter.began)
	var b strings.Builder
	if s.meter.costly.Load() {
		fmt.Fprintf(&b, "ERROR: the probes took %.1f %% of a CPU for %d seconds, which is more than --max-overhead "+
			"allows (%g %%): the run was ended\n",
			s.meter.spent, budgetMost, s.o.MaxOverhead)
	}
	rows := s.measured()
	order.Stably(rows, func(a, b cost) int { return cmp.Compare(b.Nanos, a.Nanos) })
	fmt.Fprintf(&b, "%15s %8s %10s  probe (in %.1f s)\n", "runs", "ns each", "% of a CPU", took.Seconds())
	for _, r := range rows {
		fmt.Fprintf(&b, "%15s %8d %10.2f  %s\n", view.Grouped(r.Runs), r.Nanos/r.Runs, percent(r.Nanos, took),
			s.Message(value.Text(r.name)))
	}
	fmt.Fprint(s.o.Stderr, b.String())
}
