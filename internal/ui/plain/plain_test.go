package plain

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/ui/glyph"
	"github.com/hawktrace/hawk/internal/ui/live/livetest"
	"github.com/hawktrace/hawk/internal/value"
	"github.com/hawktrace/hawk/internal/view"
)

var update = flag.Bool("update", false, "rewrite what is expected")

func TestTables(t *testing.T) {
	maps := []*view.Map{livetest.Micros, livetest.Reads, livetest.Bytes, livetest.Sizes, livetest.Calls,
		livetest.Depth, livetest.Last}
	v := New(maps, Options{Rows: 4})
	var b bytes.Buffer
	v.Open(&b)
	sink := v.Sink(output.NewText(v.Writer(), &b, output.Options{}))
	p := &livetest.Player{To: v}
	p.Comms = []string{"postgres", "node", "bad\x1b]0;x\x07\nname", "bash", "\u202eevil", "sixth"}
	p.Begin()
	sink.Write(&output.Printf{Text: []byte("an event of the script\n")})
	sink.Write(output.Map{Name: "@reads"}) // which the table shows
	sink.Flush()
	p.Second()
	sink.Write(&output.Printf{Text: []byte("a line that ")})
	sink.Flush()
	p.Second()
	sink.Write(&output.Printf{Text: []byte("ends late\nand one that does not")})
	p.End()
	const golden = "testdata/tables.txt"
	if *update {
		os.WriteFile(golden, b.Bytes(), 0o666)
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Error(diff)
	}
	if i := strings.IndexAny(b.String(), "\x1b\x07\u202e"); i >= 0 {
		t.Errorf("something acts on terminals: %q", b.String()[max(i-20, 0):])
	}
}

// TestWidths: columns stand below each other whatever names are made of, as in the terminal view.
func TestWidths(t *testing.T) {
	v := New([]*view.Map{livetest.Reads}, Options{Rows: 9})
	var b bytes.Buffer
	v.Open(&b)
	p := &livetest.Player{To: v, Comms: []string{"日本語", "\u200bzero", "e\u0301", "plain"}}
	p.Begin()
	p.Second()
	p.End()
	_, table, _ := strings.Cut(b.String(), "4 keys\n")
	table, _, _ = strings.Cut(table, "\n\n")
	widths := map[int]bool{}
	for line := range strings.SplitSeq(table, "\n") {
		widths[glyph.Width(line)] = true
	}
	if strings.Count(table, "\n") != 4 || len(widths) != 1 || strings.Contains(table, "\u200b") {
		t.Errorf("lines of %v columns:\n%s", widths, table)
	}
}

// Tables and the lines of the script come from two goroutines.
func TestLinesStayWhole(t *testing.T) {
	v := New([]*view.Map{livetest.Calls}, Options{Rows: 3})
	var b bytes.Buffer
	v.Open(&b)
	p := &livetest.Player{To: v}
	p.Begin()
	var both sync.WaitGroup
	both.Go(func() {
		w := v.Writer()
		for range 2000 {
			w.Write([]byte("begin "))
			w.Write([]byte("end\nbegin"))
			w.Write([]byte(" end\n"))
		}
	})
	for range 50 {
		p.Second()
	}
	both.Wait()
	p.End()
	n := 0
	for line := range strings.Lines(b.String()) {
		if line == "begin end\n" {
			n++
		} else if strings.Contains(line, "begin") || strings.Contains(line, "end") && !strings.Contains(line, "ended") {
			t.Fatalf("a line was cut: %q", line)
		}
	}
	if n != 4000 {
		t.Errorf("%d lines of 4,000", n)
	}
}

// TestOneStack speaks of one stack as one.
func TestOneStack(t *testing.T) {
	v := New([]*view.Map{livetest.Bytes}, Options{Rows: 4})
	var b bytes.Buffer
	v.Open(&b)
	p := &livetest.Player{To: v}
	p.Begin()
	rows := []view.Row{{Key: value.Tuple{livetest.Stack("main"), value.Str("one")}, Value: value.Uint(9)}}
	v.Take(view.Snapshot{Map: livetest.Bytes, Seq: 1, Rows: view.RowsOf(rows), Totals: true, Complete: true,
		End: livetest.Boot})
	v.Take(view.End{Boot: livetest.Boot, Cause: "exit"})
	if text := b.String(); !strings.Contains(text, "profile  1 stack, ") {
		t.Error(text)
	}
}
