package hawktest

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hawktrace/hawk/internal/hawktest/browser"
	"github.com/hawktrace/hawk/internal/hawktest/collect"
)

// shown is a script with a pane of each kind, whose names are such that a page that took them for more than text would
// say so on the console.
const shown = `begin {
	@names["<img src=nowhere onerror=console.log(1)>"] = count(); @names["</script><script>console.log(2)</script>"] = count();
	@names["\x1b[31mred"] = count(); @state["<b>up</b>"] = "\"}<i>"; @both = (1, 2);
	for ($i : 0..600) { @many[$i] = 7; }
}
profile:hz:49 { @stacks[kstack(8), ustack(8), comm] = count(); }
tracepoint:raw_syscalls:sys_enter {
	@calls[comm] = count(); @fd = hist(args.args[0] % 5000); @by[comm] = lhist(args.id, 0, 400, 40);
	@sizes[comm] = stats(args.args[2] % 100); @last[comm] = args.id; @over[comm] = tseries(args.id, 1s, 10);
}
interval:ms:200 { printf("<script>console.log(3)</script> %d %s\n", elapsed / 1000000, comm);
	warnf("in words %d", 5); }`

// lookAt shows a page in all sizes and colours, has it checked, and keeps its pictures where HAWK_PICTURES says.
func lookAt(t *testing.T, p *browser.Page, name string) {
	t.Helper()
	for _, size := range [][2]int{{1280, 800}, {390, 844}} {
		for _, dark := range []bool{false, true} {
			p.Show(size[0], size[1], dark)
			p.Eval("new Promise(done => requestAnimationFrame(() => setTimeout(done, 100)))", nil)
			for _, s := range p.Check() {
				t.Errorf("%s at %v, dark %v: %s", name, size, dark, s)
			}
			if dir := os.Getenv("HAWK_PICTURES"); dir != "" {
				file := filepath.Join(dir, fmt.Sprintf("%s-%d-%v.png", name, size[0], dark))
				if err := os.WriteFile(file, p.Picture(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	p.Show(1280, 800, false)
}

// quiet finds nothing on the console, nothing refused, and no request beyond the page's own origin.
func quiet(t *testing.T, p *browser.Page, origin string) {
	t.Helper()
	for _, s := range p.Problems() {
		t.Errorf("the browser says: %s", s)
	}
	for _, s := range p.Requests() {
		if !strings.HasPrefix(s, origin) && !strings.HasPrefix(s, "data:") && !strings.HasPrefix(s, "blob:") {
			t.Errorf("the page asks for %s", s)
		}
	}
}

// TestPage has Debian's Chromium show the page of a run, with a keyboard and without a mouse.
func TestPage(t *testing.T) {
	if missing, err := Have("root"); err != nil || missing != nil {
		t.Skipf("needs root: %v", errors.Join(missing, err))
	}
	p := browser.Open(t)
	hawk, err := hawkOnce()
	if err != nil {
		t.Fatal(err)
	}
	var said collect.Output
	run := exec.Command(hawk, "--web=127.0.0.1:0", "--every", "200ms", "-o", "/dev/null", "-e", shown)
	run.Stderr = &said
	run.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	defer run.Process.Kill()
	var address string
	serving := regexp.MustCompile(`(?m)^Serving (http://127\.0\.0\.1:\d+/)#t=\S+$`)
	for start := time.Now(); address == ""; time.Sleep(20 * time.Millisecond) {
		if m := serving.FindStringSubmatch(said.String()); m != nil {
			address = strings.TrimPrefix(m[0], "Serving ")
		} else if time.Since(start) > time.Minute {
			t.Fatalf("hawk does not serve: %s", &said)
		}
	}
	origin, _, _ := strings.Cut(address, "#")
	pane := func(name string) string {
		return fmt.Sprintf(`document.querySelector('section[aria-label="%s"]')`, name)
	}
	rows := func(name string) string { return pane(name) + `.querySelectorAll("[role=region] tbody tr")` }
	p.Go(address)
	for _, name := range []string{"@names", "@calls", "@fd", "@by", "@sizes", "@last"} {
		p.Await(pane(name) + `?.querySelector("[role=region] tbody tr")`)
	}
	p.Await(`!document.querySelector("#stacks").hidden && document.querySelector("#lines tr")`)
	var href string
	if p.Eval("location.href", &href); href != origin {
		t.Errorf("the address is %s: the token stays in it", href)
	}

	t.Run("cut", func(t *testing.T) { // rows that a table has no room for are counted
		p := p.With(t)
		p.Await(rows("@many") + `.length === 500 && ` + pane("@many") + `.textContent.includes("100 rows more")`)
	})
	t.Run("names", func(t *testing.T) { // are text as they came, but for what would not show
		p := p.With(t)
		var got []string
		p.Eval(`[...`+rows("@names")+`].map(r => r.cells[0].textContent).sort()`, &got)
		want := []string{"</script><script>console.log(2)</script>",
			"<img src=nowhere onerror=console.log(1)>", `\x1b[31mred`}
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		p.Await(`document.querySelector("#lines").textContent.includes("<script>console.log(3)</script>")`)
		p.Await(`document.querySelector("#lines").textContent.includes("WARNING: in words 5")`)
		var n int
		if p.Eval(`document.querySelectorAll("#panes img,#panes b,#panes script,#events script").length`, &n); n != 0 {
			t.Errorf("names have become %d elements", n)
		}
	})
	t.Run("looks", func(t *testing.T) {
		p := p.With(t)
		p.Await(pane("@fd") + `.querySelector("canvas.heat")`)
		p.Await(pane("@calls") + `.querySelector(".uplot")`)
		lookAt(t, p, "page")
		quiet(t, p, origin)
	})
	t.Run("keys", func(t *testing.T) { // reach all that a mouse would
		p := p.With(t)
		p.Eval(`document.activeElement.blur(); scrollTo(0, 0)`, nil)
		p.Press("Shift+Tab") // from the end of the page to the browser, if it was there
		p.Eval(`document.activeElement.blur()`, nil)
		type stop struct {
			Name    string
			Focused bool
			Y       float64
		}
		var stops []stop
		for range 400 {
			p.Press("Tab")
			var s stop
			p.Eval(`(() => { const e = document.activeElement, c = getComputedStyle(e), r = e.getBoundingClientRect();
				return {Name: e.id || e.textContent.slice(0, 30), Y: r.top + scrollY,
					Focused: e === document.body || c.outlineStyle !== "none" || c.boxShadow !== "none"}; })()`, &s)
			if len(stops) > 3 && (s.Name == stops[0].Name || s.Y == stops[0].Y && s == stops[0]) {
				break
			}
			stops = append(stops, s)
		}
		reached := map[string]bool{}
		for _, s := range stops {
			reached[s.Name] = true
			if !s.Focused {
				t.Errorf("%s has the focus, and nobody sees it", s.Name)
			}
		}
		for _, id := range []string{"pause", "look", "save", "dark", "from", "to", "search", "graph", "filter",
			"follow", "rolling"} {
			if !reached[id] {
				t.Errorf("Tab does not lead to %s", id)
			}
		}
		// A column is sorted, and once more the other way round.
		p.Eval(pane("@calls")+`.querySelector("th button").focus()`, nil)
		p.Press("Enter")
		p.Await(pane("@calls") + `.querySelector("th[aria-sort=descending]")`)
		p.Await(`document.activeElement.closest("section") === ` + pane("@calls"))
		p.Press("Enter")
		p.Await(pane("@calls") + `.querySelector("th[aria-sort=ascending]")`)
		// Rows are filtered as one types.
		p.Eval(pane("@names")+`.querySelector("input[type=search]").focus()`, nil)
		p.Press("r", "e", "d")
		p.Await(rows("@names") + `.length === 1`)
		p.Press("Backspace", "Backspace", "Backspace")
		p.Await(rows("@names") + `.length === 3`)
		// A picture has a table behind it, with the numbers of its buckets.
		p.Eval(pane("@fd")+`.querySelector("[role=region]").focus()`, nil)
		p.Press("t")
		p.Await(pane("@fd") + `.querySelectorAll("header + div th").length > 4`)
		var sums []float64
		p.Eval(`[...`+pane("@fd")+`.querySelectorAll("header + div tbody tr")].map(r => {
			const [all, ...of] = [...r.cells].slice(2).map(c => Number(c.textContent.replaceAll(",", "")));
			return all - of.reduce((a, b) => a + b, 0);
		})`, &sums)
		if len(sums) == 0 || slices.ContainsFunc(sums, func(n float64) bool { return n != 0 }) {
			t.Errorf("the table behind a heat map lacks %v", sums)
		}
		p.Press("t")
		p.Await(pane("@fd") + `.querySelector("canvas.heat")`)
		// A part of the run holds for all panes, and is given up again.
		p.Eval(`document.querySelector("#from").focus()`, nil)
		p.Press("0")
		p.Eval(`document.querySelector("#to").focus()`, nil)
		p.Press("1", "Enter")
		p.Await(`document.querySelector("#span").textContent.includes("in all panes")`)
		p.Await(pane("@calls") + `.textContent.includes(" s to ")`) // what its looks are of
		p.Eval(`document.querySelector("#entire").focus()`, nil)
		p.Press(" ")
		p.Await(`document.querySelector("#span").textContent.startsWith("whole run")`)
		// The flame graph is of one command, and the address leads to that.
		p.Eval(`(() => {
			const of = document.querySelector("#label");
			of.value = of.options[1].value;
			of.dispatchEvent(new Event("change"));
		})()`, nil)
		p.Await(`new URLSearchParams(location.hash.slice(1)).get("l") === document.querySelector("#label").value`)
		p.Await(`document.querySelector("#label").value !== ""`)
		p.Eval(`document.querySelector("#reset").click()`, nil)
		p.Await(`document.querySelector("#label").value === ""`)
		// The flame graph is walked and zoomed, and shown as a table.
		p.Eval(`document.querySelector("#graph").focus()`, nil)
		p.Press("i", "ArrowDown", "ArrowUp", "Enter", "Escape", "t")
		p.Await(`!document.querySelector("#table").hidden && document.querySelector("#rows tr")`)
		p.Press("t", "/")
		p.Await(`document.activeElement.id === "search"`)
		p.Press("Escape")
		// A pause keeps the picture.
		p.Eval(`document.querySelector("#pause").focus()`, nil)
		p.Press(" ")
		p.Await(`document.querySelector("#pause").ariaPressed === "true"`)
		p.Press(" ")
		p.Await(`document.querySelector("#pause").ariaPressed === "false"`)
		quiet(t, p, origin)
	})
	var saved string
	t.Run("saved", func(t *testing.T) { // as one file, which needs nobody
		p := p.With(t)
		p.Eval(`fetch("/v1/snapshot?format=html", {
			headers: {Authorization: "Bearer " + sessionStorage.getItem("hawk-token")},
		}).then(r => r.text())`, &saved)
		file := filepath.Join(t.TempDir(), "run.html")
		if err := os.WriteFile(file, []byte(saved), 0o600); err != nil {
			t.Fatal(err)
		}
		alone := browser.Open(t)
		here := (&url.URL{Scheme: "file", Path: file}).String()
		alone.Go(here)
		alone.Await(`document.documentElement.dataset.ready`)
		alone.Await(`document.body.textContent.includes("<img src=nowhere onerror=console.log(1)>")`)
		lookAt(t, alone, "saved")
		quiet(t, alone, here)
	})
	t.Run("end", func(t *testing.T) { // is said, and what was seen stays
		p := p.With(t)
		run.Process.Signal(syscall.SIGINT)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		p.Await(`!document.querySelector("#banner").hidden`)
		p.Await(rows("@names") + `.length === 3`)
		gone := regexp.MustCompile(`ERR_(CONNECTION_(REFUSED|RESET)|EMPTY_RESPONSE|INCOMPLETE_CHUNKED_ENCODING)`)
		for _, s := range p.Problems() { // but that nobody answers any more
			if !gone.MatchString(s) {
				t.Errorf("the browser says: %s", s)
			}
		}
	})
}

// TestFlameGraph has a graph of 200,000 stacks be drawn and walked. It says how long that takes and asserts none of it.
func TestFlameGraph(t *testing.T) {
	p := browser.Open(t)
	hawk, err := hawkOnce()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var folded strings.Builder
	const stacks = 200000
	for i := range stacks {
		fmt.Fprintf(&folded, "main;worker%d;handle%d;step%d;leaf%d 1\n", i%7, i%97, i%1009, i)
	}
	for name, text := range map[string]string{"old": "main;<b>gone</b> 5\n", "new": folded.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "flame.html")
	if out, err := exec.Command(hawk, "diff", "-f", "flame", "-o", file, filepath.Join(dir, "old"),
		filepath.Join(dir, "new")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	here := (&url.URL{Scheme: "file", Path: file}).String()
	start := time.Now()
	p.Go(here)
	p.Await(`document.documentElement.dataset.ready`)
	frame := "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
	p.Eval(frame, nil)
	ready := time.Since(start)
	var took struct{ Zoom, Table float64 }
	p.Eval(`(async () => {
		const timed = async id => {
			const t = performance.now();
			document.getElementById(id).click();
			await `+frame+`;
			return performance.now() - t;
		};
		return {Zoom: await timed("icicle"), Table: await timed("tabled")};
	})()`, &took)
	t.Logf("ready after %v, drawn anew in %.0f ms, table in %.0f ms", ready.Round(time.Millisecond),
		took.Zoom, took.Table)
	var rows []string
	p.Eval(`[...document.querySelectorAll("#rows tr")].map(r => r.cells[2].textContent)`, &rows)
	if len(rows) != 500 {
		t.Errorf("the table has %d rows", len(rows))
	}
	p.Eval(`document.querySelector("#by-total").focus()`, nil)
	p.Press("Enter")
	p.Await(`document.querySelector("#rows tr").cells[4].textContent === "main"`)
	var total string
	if p.Eval(`document.querySelector("#rows tr").cells[2].textContent`, &total); total != "200,000" {
		t.Errorf("main weighs %s", total)
	}
	p.Press("t", "/")
	p.Await(`document.activeElement.id === "search"`)
	p.Press("w", "o", "r", "k", "e", "r", "3")
	p.Await(`document.querySelector("#share").textContent.includes("14.3 % matched")`)
	p.Press("Enter", "n")
	p.Await(`document.querySelector("#crumbs").textContent.includes("worker3")`)
	lookAt(t, p, "flame")
	quiet(t, p, here)
}

// TestFlameGraphEdges has boxes be drawn where they are of stacks that are higher than a canvas, and what is too
// narrow for a box be one that says how much it is.
func TestFlameGraphEdges(t *testing.T) {
	p := browser.Open(t)
	hawk, err := hawkOnce()
	if err != nil {
		t.Fatal(err)
	}
	open := func(folded string) {
		dir := t.TempDir()
		file := filepath.Join(dir, "flame.html")
		if err := os.WriteFile(filepath.Join(dir, "folded"), []byte(folded), 0o600); err != nil {
			t.Fatal(err)
		}
		same := filepath.Join(dir, "folded")
		if out, err := exec.Command(hawk, "diff", "-f", "flame", "-o", file, same, same).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		p.Go((&url.URL{Scheme: "file", Path: file}).String())
		p.Await(`document.documentElement.dataset.ready`)
		p.Eval("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))", nil)
	}
	open(strings.Repeat("r;", 1000) + "end 1\n" + strings.Repeat("r;", 3000) + "end 1\n")
	var opaque []bool
	p.Eval(`(() => {
		const c = document.getElementById("graph"), pen = c.getContext("2d");
		const at = (x, y) => pen.getImageData(c.width * x | 0, c.height * y | 0, 1, 3).data.some(n => n);
		return [at(0.25, 0.1), at(0.75, 0.1), at(0.25, 0.5), at(0.75, 0.5)];
	})()`, &opaque)
	if want := []bool{true, true, false, true}; !slices.Equal(opaque, want) {
		t.Errorf("boxes of two stacks are at %v, not at %v", opaque, want)
	}
	var folded strings.Builder
	for i := range 20 {
		fmt.Fprintf(&folded, "main;f%02d %d\n", i, []int{10_000_000, 1}[i%2])
	}
	open(folded.String())
	p.Eval(`document.getElementById("byname").click()`, nil)
	p.Eval("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))", nil)
	var said []string
	p.Eval(`(() => {
		const c = document.getElementById("graph"), r = c.getBoundingClientRect(), said = new Set();
		for (let y = r.top + 5; y < r.bottom; y += 19)
			for (let x = r.left; x < r.right; x++) {
				c.dispatchEvent(new MouseEvent("mousemove", {clientX: x, clientY: y}));
				const tip = document.getElementById("tip").textContent;
				if (tip.includes("too narrow")) said.add(tip);
			}
		return [...said];
	})()`, &said)
	if len(said) != 1 || !strings.HasPrefix(said[0], "10 frames too narrow to draw: 10 (") {
		t.Errorf("narrow frames are said to be %q", said)
	}
	// Data of more than a megabyte are packed. They come in pieces, which may end within a letter.
	folded.Reset()
	for i := range 40_000 {
		fmt.Fprintf(&folded, "main;%s%d 1\n", strings.Repeat("ä€😀", 3), i)
	}
	open(folded.String())
	p.Press("t")
	var info, rows string
	p.Eval(`new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))`, nil)
	p.Eval(`document.getElementById("info").textContent`, &info)
	p.Eval(`document.getElementById("rows").textContent`, &rows)
	if !strings.Contains(info, "40,000 (100.0 %)") || strings.Count(rows, "ä€😀ä€😀ä€😀") != 500 ||
		strings.Contains(rows, "\uFFFD") {
		t.Errorf("a large page says %q, and has rows %.200q", info, rows)
	}
	quiet(t, p, "file://")
}
