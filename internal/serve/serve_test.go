package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hawktrace/hawk"
)

// A client sends requests and reads what comes, line by line.
type client struct {
	t     *testing.T
	in    *io.PipeWriter
	lines *bufio.Scanner
	over  chan error
}

func dial(t *testing.T) *client {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &client{t: t, in: inW, lines: bufio.NewScanner(outR), over: make(chan error, 1)}
	go func() {
		c.over <- Run(context.Background(), inR, outW)
		outW.Close()
	}()
	return c
}

// next is the next line, "" at the end.
func (c *client) next() map[string]any {
	c.t.Helper()
	if !c.lines.Scan() {
		return nil
	}
	var m map[string]any
	if err := json.Unmarshal(c.lines.Bytes(), &m); err != nil || m["jsonrpc"] != "2.0" {
		c.t.Fatalf("%s: %v", c.lines.Bytes(), err)
	}
	return m
}

// call sends a line and yields the answer; what comes in between goes to others.
func (c *client) call(line string, others *[]map[string]any) map[string]any {
	c.t.Helper()
	go io.WriteString(c.in, line+"\n")
	for m := c.next(); m != nil; m = c.next() {
		if _, ok := m["id"]; ok {
			return m
		}
		if others != nil {
			*others = append(*others, m)
		}
	}
	c.t.Fatalf("no answer to %s", line)
	return nil
}

func code(m map[string]any) float64 {
	e, _ := m["error"].(map[string]any)
	n, _ := e["code"].(float64)
	return n
}

func TestProtocol(t *testing.T) {
	c := dial(t)
	for line, want := range map[string]float64{
		`nonsense`:        parseError,
		`{"method": "x"}`: badRequest,
		`[1]`:             badRequest,
		`{"jsonrpc": "2.0", "id": 1, "method": 5}`:                                    badRequest,
		strings.Repeat("x", maxLine+1):                                                badRequest,
		`{"jsonrpc": "2.0", "id": 1, "method": "x", "params": []}`:                    badParams,
		`{"jsonrpc": "2.0", "id": 1, "method": "x"}`:                                  unknownMethod,
		`{"jsonrpc": "2.0", "id": 1, "method": "start", "params": {"id": "one"}}`:     badParams,
		`{"jsonrpc": "2.0", "id": 1, "method": "start", "params": {"id": 7}}`:         refused,
		`{"jsonrpc": "2.0", "id": 1, "method": "check", "params": {"script": "bad"}}`: refused,
	} {
		if m := c.call(line, nil); code(m) != want {
			t.Errorf("%s: %v, want %v", line, m, want)
		}
	}
	const wrong = `{"jsonrpc": "2.0", "id": "a", "method": "check", "params": {"script": "begin { print(cuont); }"}}`
	m := c.call(wrong, nil)
	data := m["error"].(map[string]any)["data"].([]any)
	d := data[0].(map[string]any)
	if m["id"] != "a" || d["severity"] != "error" || d["start"].([]any)[1] != float64(15) {
		t.Errorf("%v", m)
	}
	m = c.call(`{"jsonrpc": "2.0", "id": 2, "method": "check", "params": {"script": "begin { }"}}`, nil)
	if got := m["result"].(map[string]any)["probes"].([]any); len(got) != 1 || got[0] != "begin" {
		t.Errorf("%v", m)
	}
	m = c.call(`  {"jsonrpc": "2.0", "id": 2, "method": "check"}  `, nil)
	if got, ok := m["result"].(map[string]any)["probes"].([]any); len(got) != 0 || !ok {
		t.Errorf("%v", m)
	}
	c.in.Close()
	if m := c.next(); m != nil {
		t.Errorf("%v", m)
	}
	if err := <-c.over; err != nil {
		t.Error(err)
	}
}

func privileged(t *testing.T) {
	t.Helper()
	if err := hawk.Host().Privileges(); err != nil {
		t.Skip(err)
	}
}

// Two scripts run at a time; one is stopped, the other goes with the input.
func TestSessions(t *testing.T) {
	privileged(t)
	c := dial(t)
	var events []map[string]any
	for _, script := range []string{
		`begin { @[1, \"a\"] = 2; print((n=1)); } interval:s:1 { }`,
		`begin { print(18446744073709551615); @h = hist(1 << 60); print(@h); } interval:s:1 { }`,
	} {
		m := c.call(`{"jsonrpc": "2.0", "id": 1, "method": "compile", "params": {"take": true, "script": "`+
			script+`"}}`, &events)
		id, _ := json.Marshal(m["result"].(map[string]any)["id"])
		m = c.call(`{"jsonrpc": "2.0", "id": 1, "method": "start", "params": {"id": `+string(id)+`}}`, &events)
		if m["result"].(map[string]any)["attached"] != float64(2) {
			t.Fatalf("%v", m)
		}
	}
	for _, step := range []struct{ method, want string }{
		{"map.snapshot", `[[[1,"a"],2]]`}, {"map.take", `[[[1,"a"],2]]`}, {"map.snapshot", `[]`},
	} {
		m := c.call(`{"jsonrpc": "2.0", "id": 1, "method": "`+step.method+
			`", "params": {"id": 1, "map": "@"}}`, &events)
		text, _ := json.Marshal(m["result"])
		if string(text) != `{"complete":true,"entries":`+step.want+`,"map":"@"}` {
			t.Errorf("%s: %s", step.method, text)
		}
	}
	if m := c.call(`{"jsonrpc": "2.0", "id": 1, "method": "stop", "params": {"id": 1}}`, &events); m["error"] != nil {
		t.Errorf("%v", m)
	}
	c.in.Close()
	for m := c.next(); m != nil; m = c.next() {
		events = append(events, m)
	}
	if err := <-c.over; err != nil {
		t.Error(err)
	}
	var printed, ended []string
	for _, m := range events {
		p := m["params"].(map[string]any)
		switch p["kind"] {
		case "map":
			text, _ := json.Marshal(p["map"])
			printed = append(printed, string(text))
		case "print":
			text, _ := json.Marshal(p["value"])
			printed = append(printed, string(text))
		case "ended":
			text, _ := json.Marshal(p["id"])
			ended = append(ended, string(text))
		}
	}
	all := strings.Join(printed, " ")
	if !strings.Contains(all, `{"n":1}`) || !strings.Contains(all, `"18446744073709551615"`) ||
		!strings.Contains(all, `{"Count":1,"Max":"2305843009213693951","Min":"1152921504606846976","NoMax":false`) {
		t.Errorf("%q", printed)
	}
	if strings.Join(ended, " ") != "1 2" {
		t.Errorf("ended %q", ended)
	}
}

// The module for Python runs a script, reads its events and maps, and leaves nothing.
func TestPython(t *testing.T) {
	privileged(t)
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	command := filepath.Join(dir, "hawk")
	if out, err := exec.Command("go", "build", "-o", command, "../../cmd/hawk").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const program = `
import os, signal, sys, hawk
with hawk.Hawk(sys.argv[1]) as h:
    try:
        h.check("begin { print(cuont); }")
    except hawk.Error as e:
        print(e.diagnostics[0]["start"])
    run = h.start('begin { @n["a"] = 1; } interval:ms:10 { print((n=@n["a"], who="x")); }')
    print(run.attached, run.map("@n"))
    for event in run:
        if event["kind"] == "print":
            print(event["value"])
            break
    print(run.stop()["status"], [event["kind"] for event in run][-1])
    for n in range(20):  # what ended and nobody has any more is freed
        for event in h.start("begin { exit(); }"):
            pass
    h.check("begin { }")
    print(len(os.listdir("/proc/%d/fd" % h._process.pid)) < 20, len(h._runs), len(h._answers))
    try:
        h.start("begin { }", tkae=True)
    except hawk.Error as e:
        print(e)
    try:
        h.start("")
    except hawk.Error as e:
        print(e, len(h._runs))
    try:
        h.check("x" * (17 << 20))
    except hawk.Error as e:
        print(e)
    run = h.start("interval:ms:1 { print(@n++); } self:signal:SIGUSR1 { }")
    try:
        for event in run:
            if event["kind"] == "print" and event["value"] >= 9:
                os.killpg(0, signal.SIGINT)  # what a terminal does at Ctrl-C
    except KeyboardInterrupt:
        print(len(run.map("@n")))
    hawk.HELD = 5
    seen, held = run.stats()["Events"], run._events.qsize()
    while run.stats()["Dropped"] < 20:
        pass
    print(*run.stats())
    print(run.stats()["Events"] < seen + 100, len([e for e in (run.stop(), run)[1] if e["kind"] == "print"]) <= held + 5)
    print(list(run))
    h._process.kill()
    try:
        h.check("begin { }")
    except hawk.Error as e:
        print(e)
try:
    h.check("begin { }")
except hawk.Error as e:
    print(e)
with hawk.Hawk(sys.argv[2]) as h:
    h._reader.join()
    try:
        h.check("begin { }")
    except hawk.Error as e:
        print(e)
`
	// The command that starts hawk may say something first.
	talkative, mute := filepath.Join(dir, "talkative"), filepath.Join(dir, "mute")
	for name, text := range map[string]string{
		talkative: "echo welcome; exec " + command + ` "$@"`, mute: "exec >&-; read x",
	} {
		if err := os.WriteFile(name, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(python, "-B", "-c", program, talkative, mute)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = append(os.Environ(), "PYTHONPATH=../../contrib/python")
	out, err := cmd.CombinedOutput()
	const want = "[1, 15]\n2 [['a', 1]]\n{'n': 1, 'who': 'x'}\n0 end\nTrue 0 0\n" +
		"there is no parameter tkae: did you mean take?\nhawk: No probes to attach 0\n" +
		"a request has at most 16777216 bytes\n1\nEvents Lost Missed Dropped Unread\nTrue True\n[]\n" +
		"hawk has ended\nhawk has ended\nhawk has ended\n"
	if err != nil || string(out) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, out, want)
	}
}

// TestCommandsHaveToBeAllowed: the refusal names the parameter, and not the option of the library.
func TestCommandsHaveToBeAllowed(t *testing.T) {
	c := dial(t)
	script := `{"jsonrpc":"2.0","id":1,"method":"compile","params":{"script":"begin { system(\"\") }","unsafe":true}}`
	if m := c.call(script, nil); m["error"] != nil {
		t.Fatal(m)
	}
	m := c.call(`{"jsonrpc":"2.0","id":2,"method":"start","params":{"id":1}}`, nil)
	const want = "program 1 starts commands: unsafe has to allow that in start, too"
	if e, _ := m["error"].(map[string]any); e["message"] != want {
		t.Errorf("%v, want %q", m, want)
	}
	c.in.Close()
}

// Nothing stays attached once the input has ended, also while nobody reads what is written.
func TestNobodyReads(t *testing.T) {
	privileged(t)
	in, requests := io.Pipe()
	unread, out := io.Pipe()
	over := make(chan error, 1)
	go func() { over <- Run(t.Context(), in, out) }()
	answers := bufio.NewReader(unread)
	dir := t.TempDir()
	for id := 1; id <= 3; id++ {
		script := fmt.Sprintf(`interval:ms:1 { print(1); } end { system("touch %s/%d"); }`, dir, id)
		go fmt.Fprintf(requests, `{"jsonrpc":"2.0","method":"compile","params":{"script":%q,"unsafe":true}}
			{"jsonrpc":"2.0","id":5,"method":"start","params":{"id":%d,"unsafe":true}}`+"\n", script, id)
		for line := ""; !strings.Contains(line, `"attached":`); {
			line, _ = answers.ReadString('\n')
		}
	}
	requests.Close()
	for left := 3; left > 0; time.Sleep(10 * time.Millisecond) {
		done, err := os.ReadDir(dir)
		if err != nil || t.Context().Err() != nil {
			t.Fatal(err)
		}
		left = 3 - len(done)
	}
	unread.Close()
	if err := <-over; err == nil {
		t.Error("nobody read, and that is no error")
	}
}
