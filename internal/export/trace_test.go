package export

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

// TestTracksOfStacks has the rest of the key tell what stacks weigh over time, and tracks of the keys
// that weigh most at the end.
func TestTracksOfStacks(t *testing.T) {
	stacks := &view.Map{Name: "@bytes", Kind: view.Counter, Weight: view.ValueWeight, Type: types.Uint64,
		Key:  &types.Tuple{Elems: []types.Type{ustack(10), &types.String{Cap: 16}}},
		Keys: []view.Element{{Frames: view.UserFrames}, {Name: "comm"}}}
	alone := &view.Map{Name: "@", Kind: view.Counter, Weight: view.ValueWeight, Type: types.Uint64, Key: ustack(10),
		Keys: []view.Element{{Frames: view.UserFrames}}}
	many := &view.Map{Name: "@many", Kind: view.Counter, Weight: view.ValueWeight, Type: types.Uint64,
		Key: types.Uint64, Keys: []view.Element{{Name: "pid"}}}
	script := &view.Script{Maps: []*view.Map{alone, stacks, many}}
	rec := view.Recorder{Past: true}
	rec.Take(view.Begin{Script: script})
	n := names{"main", "read", "write"}
	for i := range uint64(3) {
		end := time.Duration(i+1) * time.Second
		var rows, pids []view.Row
		for k := range uint64(50) { // more than are kept apart of a map without stacks
			stack := n.stack(true, k%3, k%2, k)
			stack.Namer = nil // no name is looked up for a sum
			comm := []string{"bash", "git"}[k%2]
			key := value.Tuple{stack, value.Text(comm)}
			rows = append(rows, view.Row{Key: key, Value: value.Uint((i + 1) * (1 + k%2))})
			weight := k
			if i == 2 && k == 0 {
				weight = 1000 // light at first, the heaviest at the end
			}
			pids = append(pids, view.Row{Key: value.Uint(k), Value: value.Uint(weight)})
		}
		rec.Take(view.Snapshot{Map: stacks, Seq: i + 1, End: end, Rows: view.RowsOf(rows)})
		first, second := rows[0].Key.(value.Tuple)[0], rows[1].Key.(value.Tuple)[0]
		rec.Take(view.Snapshot{Map: alone, Seq: i + 1, End: end, Rows: view.RowsOf([]view.Row{
			{Key: first, Value: value.Uint(7 * i)}, {Key: second, Value: value.Uint(i)}})})
		rec.Take(view.Snapshot{Map: many, Seq: i + 1, End: end, Rows: view.RowsOf(pids)})
	}
	var got []string
	own := 0
	var others []counterPoint
	for _, track := range counterTracks(rec.Run(), script.Maps) {
		if track.name == "@many[0]/s" {
			own = len(track.points)
		}
		if track.name == "@many[(other)]/s" {
			others = track.points
		}
		if !strings.HasPrefix(track.name, "@many") {
			got = append(got, fmt.Sprint(track.name, " ", track.points))
		}
	}
	want := []string{"@/s [{1000000000 0} {2000000000 8} {3000000000 8}]",
		"@bytes[bash]/s [{1000000000 25} {2000000000 25} {3000000000 25}]",
		"@bytes[git]/s [{1000000000 50} {2000000000 50} {3000000000 50}]"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	// All but the twenty are one track. The one that grew late had no more than 30 before, as nineteen others.
	const sum = 30 * 31 / 2
	if want := fmt.Sprint([]counterPoint{{1e9, sum}, {2e9, 0}, {3e9, 30}}); fmt.Sprint(others) != want {
		t.Errorf("others: %v, want %s", others, want)
	}
	if own == 0 {
		t.Error("the heaviest key has no track")
	}
}

// TestIdleThread has events of an idle processor on a track: Perfetto takes threads with numbers alone.
func TestIdleThread(t *testing.T) {
	r := run(names{"main"})
	r.Events[0].Stamped = true
	var threads, events []uint64
	for _, p := range fields(t, written(t, Find("perfetto"), r, nil))[1] {
		f := fields(t, p.bytes)
		for _, track := range f[60] { // TrackDescriptor
			of := fields(t, track.bytes)
			for _, thread := range of[4] {
				if n := fields(t, thread.bytes); len(n[1]) != 1 || len(n[2]) != 1 || n[1][0].n != 0 || n[2][0].n != 0 {
					t.Errorf("the thread is %v", n)
				}
				threads = append(threads, of[1][0].n)
			}
		}
		for _, ev := range f[11] {
			if e := fields(t, ev.bytes); e[9][0].n == perfettoInstant {
				events = append(events, e[11][0].n)
			}
		}
	}
	if len(threads) != 1 || !slices.Equal(threads, events) {
		t.Errorf("events on tracks %v, threads have %v", events, threads)
	}
}

// TestOwnFields has values of a script that are called as fields of hawk's own stand beside those.
func TestOwnFields(t *testing.T) {
	r := run(names{"main"})
	site := r.Script.Sites[0]
	site.Args[0].Name, site.Args[1].Name = "pid", "msg"
	r.Script.Map("@lat").Keys[0].Name = "count"
	r.Script.Map("@last").Keys[0].Name = "map"
	for format, wants := range map[string][]string{
		"logfmt": {" pid_2=main msg_2=-5 msg=main\n", "map=@lat count_2=main bucket=",
			"map=@last map_2=main what=main n=0\n"},
		"journal": {"\nHAWK_PID_2=main\nHAWK_MSG=-5\n", "\nHAWK_COUNT_2=main\n", "\nHAWK_MAP_2=main\n"},
		"csv":     {"time,cpu,pid,tid,pid_2,msg\n"},
	} {
		got := string(written(t, Find(format), r, nil))
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("%s has no %q:\n%s", format, want, got)
			}
		}
	}
}
