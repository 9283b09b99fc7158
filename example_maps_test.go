package hawk_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/hawktrace/hawk"
	"github.com/hawktrace/hawk/usdt"
)

// The latencies of each interval: Take reads and empties a map, and no update between the
// two is lost. A service would do so every second.
func Example_latencyHistogram() {
	web := usdt.New("web")
	request := usdt.NewMark1[uint32](web, "request")
	check(web.Load(nil))
	defer web.Close()

	ctx := context.Background()
	prog, err := hawk.Compile(ctx, &hawk.Script{Text: `usdt:*:web:request { @us = hist((uint32)arg0); }`},
		&hawk.CompileOptions{PID: os.Getpid(), Take: true})
	check(err)
	s, err := prog.Start(ctx, nil)
	check(err)
	defer s.Close()
	m, err := s.Map("@us")
	check(err)
	for _, interval := range [][]uint32{{3, 100, 120}, {5, 6}} {
		for _, us := range interval {
			request.Fire(us)
		}
		snap, err := m.Take()
		check(err)
		fmt.Println("interval")
		for _, e := range snap.Entries {
			for _, b := range e.Value.Interface().(hawk.Hist).Buckets {
				if b.Count > 0 {
					fmt.Printf("  %d to %d us: %d\n", b.Min, b.Max, b.Count)
				}
			}
		}
	}
	// Output:
	// interval
	//   2 to 3 us: 1
	//   64 to 127 us: 2
	// interval
	//   4 to 7 us: 2
}

// A collector serves counters of a script to Prometheus.
type collector struct{ s *hawk.Session }

func (c collector) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	for _, name := range []string{"@requests", "@bytes"} {
		m, err := c.s.Map(name)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		snap, err := m.Snapshot()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		metric := "web_" + strings.TrimPrefix(name, "@") + "_total"
		fmt.Fprintf(w, "# TYPE %s counter\n", metric)
		for _, e := range snap.Entries {
			fmt.Fprintf(w, "%s{path=%q} %s\n", metric, e.Key, e.Value)
		}
	}
}

// Counters of a script, as Prometheus scrapes them.
func Example_prometheus() {
	web := usdt.New("web")
	reply := usdt.NewMark2[string, uint32](web, "reply")
	check(web.Load(nil))
	defer web.Close()

	s := run(`usdt:*:web:reply { @requests[str(arg0)] = count(); @bytes[str(arg0)] = sum((uint32)arg1); }`)
	defer s.Close()
	reply.Fire("/", 1000)
	reply.Fire("/", 500)
	reply.Fire("/health", 2)

	answer := httptest.NewRecorder()
	collector{s}.ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	fmt.Print(answer.Body)
	// Output:
	// # TYPE web_requests_total counter
	// web_requests_total{path="/health"} 1
	// web_requests_total{path="/"} 2
	// # TYPE web_bytes_total counter
	// web_bytes_total{path="/health"} 2
	// web_bytes_total{path="/"} 1500
}
