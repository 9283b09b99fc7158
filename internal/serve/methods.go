package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/hawktrace/hawk"
	"github.com/hawktrace/hawk/internal/spell"
)

// params are those of all methods; each takes its own.
type params struct {
	ID      int               `json:"id"`      // of a program: start, stop, map.*, stats
	Name    string            `json:"name"`    // of the script: compile, check
	Script  string            `json:"script"`  // its text
	Args    []string          `json:"args"`    // positional parameters
	Options map[string]string `json:"options"` // named ones
	Config  map[string]string `json:"config"`  // settings
	PID     int               `json:"pid"`     // compile, probes
	Unsafe  bool              `json:"unsafe"`
	Take    bool              `json:"take"`    // compile: map.take is to come
	Pattern string            `json:"pattern"` // probes
	Map     string            `json:"map"`     // map.snapshot, map.take
	Maps    bool              `json:"maps"`    // start: maps come as events at the end
}

// read takes parameters of a request. A name that no method knows is refused: its value would have no effect.
func (p *params) read(raw json.RawMessage) error {
	var typed *json.UnmarshalTypeError
	// The fields of one struct serve all methods: a value of the wrong type is refused even where
	// its method does not look at it.
	switch err := json.Unmarshal(raw, p); {
	case errors.As(err, &typed) && typed.Field == "":
		return fmt.Errorf("params are an object, no %s", typed.Value)
	case errors.As(err, &typed):
		return fmt.Errorf("parameter %s: expecting %s, got %s", typed.Field, typed.Type, typed.Value)
	case err != nil:
		return err
	}
	// The decoder of the standard library tells of one unknown name, without a suggestion.
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil {
		return err
	}
	var known []string
	for f := range reflect.TypeFor[params]().Fields() {
		known = append(known, f.Tag.Get("json"))
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if slices.Contains(known, name) {
			continue
		}
		if near := spell.Nearest(name, known); near != "" {
			return fmt.Errorf("there is no parameter %s: did you mean %s?", name, near)
		}
		return fmt.Errorf("there is no parameter %s", name)
	}
	return nil
}

// methods are the requests that are answered. They run one after the other.
var methods = map[string]func(s *server, p *params) (any, error){
	"compile":      func(s *server, p *params) (any, error) { return s.compile(p, false) },
	"check":        func(s *server, p *params) (any, error) { return s.compile(p, true) },
	"probes":       (*server).probes,
	"start":        (*server).start,
	"stop":         (*server).stop,
	"map.snapshot": func(s *server, p *params) (any, error) { return s.read(p, (*hawk.Map).Snapshot) },
	"map.take":     func(s *server, p *params) (any, error) { return s.read(p, (*hawk.Map).Take) },
	"stats":        (*server).stats,
}

// compile answers check and compile. Warnings go out as notifications before the answer.
func (s *server) compile(p *params, checkOnly bool) (any, error) {
	do := hawk.Compile
	if checkOnly {
		do = hawk.Check
	}
	script := &hawk.Script{Name: p.Name, Text: p.Script, Args: p.Args, Options: p.Options}
	prog, err := do(s.ctx, script, &hawk.CompileOptions{
		Config: p.Config, PID: p.PID, Unsafe: p.Unsafe, Take: p.Take,
	})
	if err != nil {
		return nil, err
	}
	for _, d := range diagnostics(prog.Warnings()) {
		s.notify("diagnostic", d)
	}
	names := []string{}
	for _, pr := range prog.Probes() {
		names = append(names, pr.Name)
	}
	// An empty list is [] in JSON, not null, which clients would have to expect besides.
	result := map[string]any{"probes": names}
	if !checkOnly {
		// Numbers are never used again: an event that is still on its way names a run that is
		// over.
		s.next++
		s.runs[s.next] = &run{prog: prog}
		result["id"] = s.next
	}
	return result, nil
}

// probes lists probes that match a pattern. One that cannot be listed is a warning, as others
// can.
func (s *server) probes(p *params) (any, error) {
	names := []string{}
	for pr, err := range hawk.Host().Probes(s.ctx, p.Pattern, &hawk.ListOptions{PID: p.PID}) {
		if err != nil {
			s.notify("diagnostic", map[string]any{"severity": "warning", "message": err.Error()})
			continue
		}
		names = append(names, pr.Name)
	}
	return names, nil
}

// start answers start; a goroutine sends the events as notifications until the run ends.
func (s *server) start(p *params) (any, error) {
	r, err := s.find(p.ID, false)
	if err != nil {
		return nil, err
	}
	if r.session != nil {
		return nil, fmt.Errorf("program %d is started already", p.ID)
	}
	// Commands of system() are permitted by the same word as in compile, since both are asked for
	// by who holds the other end.
	if r.session, err = r.prog.Start(s.ctx, &hawk.RunOptions{MapsOnExit: p.Maps, Child: p.Unsafe}); err != nil {
		if errors.Is(err, hawk.ErrPolicy) && !p.Unsafe { // hawk's own words name what clients do not have
			err = fmt.Errorf("program %d starts commands: unsafe has to allow that in start, too", p.ID)
		}
		return nil, err
	}
	// From here on two goroutines write: notifications may come before the answer to start, each
	// on a line of its own.
	r.ended = make(chan struct{})
	go func() {
		defer close(r.ended)
		for ev, err := range r.session.Events() {
			s.notify("event", event(p.ID, ev, err))
		}
		end := map[string]any{"id": p.ID, "kind": "ended"}
		if res, err := r.session.Wait(); err != nil {
			end["error"] = err.Error()
		} else {
			end["status"] = res.Status
		}
		s.notify("event", end)
	}()
	return map[string]any{"attached": r.session.Attached()}, nil
}

// stop ends a run, and the program with it; of a program that was not started nothing is left either.
func (s *server) stop(p *params) (any, error) {
	r, err := s.find(p.ID, false)
	if err != nil {
		return nil, err
	}
	if r.session == nil {
		delete(s.runs, p.ID)
		return nil, nil
	}
	// The end programs run and their events go out before the answer, which the goroutine above
	// sends.
	r.session.Stop()
	<-r.ended
	res, err := r.session.Wait()
	r.session.Close()
	delete(s.runs, p.ID)
	if err != nil {
		return nil, err
	}
	return map[string]any{"status": res.Status, "stats": res.Stats}, nil
}

// read answers with the entries of a map.
func (s *server) read(p *params, how func(*hawk.Map) (*hawk.Snapshot, error)) (any, error) {
	r, err := s.find(p.ID, true)
	if err != nil {
		return nil, err
	}
	m, err := r.session.Map(p.Map)
	if err != nil {
		return nil, err
	}
	snap, err := how(m)
	if err != nil {
		return nil, err
	}
	return entries(snap), nil
}

// stats answers with the counts of a run so far, those of its end once it has ended.
func (s *server) stats(p *params) (any, error) {
	r, err := s.find(p.ID, true)
	if err != nil {
		return nil, err
	}
	return r.session.Stats(), nil
}

// entries are those of a map: pairs of key and value, the key null of a scalar.
func entries(snap *hawk.Snapshot) any {
	out := [][2]any{}
	for _, e := range snap.Entries {
		out = append(out, [2]any{plain(e.Key.Interface()), plain(e.Value.Interface())})
	}
	return map[string]any{"map": snap.Info.Name, "complete": snap.Complete, "entries": out}
}

// The names are part of the protocol, see docs/library.md: new kinds are added, none is renamed.
var kinds = map[hawk.Kind]string{
	hawk.Print: "print", hawk.Printf: "printf", hawk.Text: "text", hawk.MapPrint: "map", hawk.Lost: "lost",
	hawk.RuntimeError: "error", hawk.Attached: "attached", hawk.End: "end",
}

// event is an event of a run as JSON. Values are as JSON has them; integers that it has not
// exactly, those from 2^53 on, are strings.
func event(id int, ev hawk.Event, err error) any {
	if err != nil {
		return map[string]any{"id": id, "kind": "error", "text": err.Error()}
	}
	out := map[string]any{"id": id, "kind": kinds[ev.Kind], "text": string(ev.Text)}
	if ev.Kind == hawk.Print {
		out["value"] = plain(ev.Value.Interface())
	}
	if ev.Map != nil {
		out["map"] = entries(ev.Map)
	}
	return out
}

// plain is a value without integers that JSON cannot hold.
func plain(v any) any {
	const exact = 1 << 53
	switch v := v.(type) {
	case int64:
		if v > exact || v < -exact {
			return fmt.Sprint(v)
		}
	case uint64:
		if v > exact {
			return fmt.Sprint(v)
		}
	// A stack is text, as print() shows it: its frames have names, which JSON of addresses would
	// lack.
	case hawk.Stack:
		return v.String()
	case hawk.Avg:
		return plain(map[string]any{"Count": v.Count, "Total": v.Total})
	case hawk.Hist:
		buckets := []any{}
		for _, b := range v.Buckets {
			buckets = append(buckets, map[string]any{
				"Min": b.Min, "Max": b.Max, "NoMin": b.NoMin, "NoMax": b.NoMax, "Count": b.Count,
			})
		}
		return map[string]any{"Buckets": plain(buckets), "Linear": v.Linear}
	case hawk.Series:
		points := []any{}
		for _, p := range v.Points {
			points = append(points, map[string]any{"Start": p.Start, "Value": p.Value})
		}
		return map[string]any{"Interval": v.Interval, "Points": plain(points)}
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plain(v[k])
		}
	}
	return v
}

// These are words of the protocol as well.
var severities = map[hawk.Severity]string{hawk.Error: "error", hawk.Warning: "warning", hawk.Bug: "bug"}

// diagnostics are those of a script, positions from 1.
func diagnostics(ds hawk.Diagnostics) []map[string]any {
	var out []map[string]any
	for _, d := range ds {
		v := map[string]any{
			"severity": severities[d.Severity], "code": d.Code, "message": d.Message,
			"text": hawk.Diagnostics{d}.Error(), "start": place(d.Span.Start), "end": place(d.Span.End),
		}
		if d.Fix != nil {
			v["fix"] = d.Fix.Text
		}
		out = append(out, v)
	}
	return out
}

// place is a position as JSON, line and column from 1, on one line rather than an object of two.
func place(p hawk.Position) json.RawMessage {
	return json.RawMessage(fmt.Sprintf("[%d,%d]", p.Line, p.Column))
}
