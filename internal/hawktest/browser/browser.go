// Package browser drives Debian's headless Chromium, for tests of pages: it opens them, types keys, takes pictures, and
// keeps what they ask for and what the browser complains of. It speaks the DevTools protocol over the browser's pipe,
// so that no port is open.
package browser

import (
	"bufio"
	_ "embed" // what pages are checked for
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Programs are the names under which the browser may be installed.
var programs = []string{"chromium-headless-shell", "chromium"}

// patience bounds each step. A machine that emulates others beside is slow.
const patience = 2 * time.Minute

// A Page is what one tab of a browser of its own shows, for one test.
type Page struct {
	t *testing.T
	*tab
}

// With is the same page for a part of its test.
func (p *Page) With(t *testing.T) *Page { return &Page{t, p.tab} }

// A tab is a page of the browser, told what to do over a pipe. Answers come by the numbers of what
// was asked.
type tab struct {
	to      *os.File
	session string

	mu       sync.Mutex
	id       int
	answers  map[int]chan answer
	ended    error
	requests []string
	problems []string
	loaded   chan struct{}
}

// An answer is a message of the browser: the result of a method, or an event, which has no ID.
type answer struct {
	ID        int             `json:"id"`
	SessionID string          `json:"sessionId"`
	Result    json.RawMessage `json:"result"`
	Error     *struct{ Message string }
	Method    string          `json:"method"`
	Params    json.RawMessage `json:"params"`
}

// Open starts a browser, which ends with the test. A test on a machine without one is skipped.
func Open(t *testing.T) *Page {
	t.Helper()
	var program string
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		t.Skipf("there is no browser here: Debian's %s", programs[0])
	}
	in, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.MkdirTemp("", "browser-")
	if err != nil {
		t.Fatal(err)
	}
	// The sandbox needs rights that root in a container lacks; what is shown is the test's own.
	cmd := exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--hide-scrollbars", "--no-first-run", "--disable-background-networking", "--disable-component-update",
		"--disable-sync", "--force-color-profile=srgb", "--user-data-dir="+home, "--remote-debugging-pipe",
		"about:blank")
	cmd.ExtraFiles = []*os.File{in, out} // descriptors 3 and 4
	cmd.Env = append(os.Environ(), "HOME="+home, "LC_ALL=C.UTF-8")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	out.Close()
	p := &Page{t, &tab{to: to, answers: map[int]chan answer{}, loaded: make(chan struct{}, 1)}}
	read := make(chan struct{})
	go func() {
		defer close(read)
		p.read(from)
	}()
	t.Cleanup(func() {
		to.Close()
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
		from.Close()
		<-read
		for range 100 { // until the last of its processes is gone, which may still write there
			if os.RemoveAll(home) == nil {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
	var target struct{ TargetID string }
	p.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	p.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	p.session = attached.SessionID
	p.call("Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true}, nil)
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		p.call(domain+".enable", nil, nil)
	}
	return p
}

// read hands answers to their callers and notes what happens, until the browser is gone.
func (p *tab) read(from *os.File) {
	messages := bufio.NewReader(from)
	for {
		line, err := messages.ReadBytes(0)
		if err != nil {
			break
		}
		var m answer
		if err := json.Unmarshal(line[:len(line)-1], &m); err != nil {
			continue
		}
		p.mu.Lock()
		if to := p.answers[m.ID]; m.ID != 0 && to != nil {
			delete(p.answers, m.ID)
			to <- m
		} else if m.Method != "" {
			p.note(m.Method, m.Params)
		}
		p.mu.Unlock()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = errors.New("the browser has ended")
	for id, to := range p.answers {
		delete(p.answers, id)
		close(to)
	}
}

// note keeps an event. Its caller holds the lock.
func (p *tab) note(method string, params json.RawMessage) {
	var e struct {
		Request          struct{ URL string }
		Entry            struct{ Source, Level, Text, URL string }
		Type             string
		Args             []struct{ Value, Description any }
		ExceptionDetails struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	if err := json.Unmarshal(params, &e); err != nil {
		return
	}
	switch method {
	case "Network.requestWillBeSent":
		p.requests = append(p.requests, e.Request.URL)
	case "Log.entryAdded":
		text := fmt.Sprintf("%s %s: %s %s", e.Entry.Source, e.Entry.Level, e.Entry.Text, e.Entry.URL)
		p.problems = append(p.problems, text)
	case "Runtime.consoleAPICalled":
		p.problems = append(p.problems, fmt.Sprintf("console %s: %v", e.Type, e.Args))
	case "Runtime.exceptionThrown":
		p.problems = append(p.problems, e.ExceptionDetails.Text+" "+e.ExceptionDetails.Exception.Description)
	case "Page.loadEventFired":
		select {
		case p.loaded <- struct{}{}:
		default:
		}
	}
}

// call has the browser do something and reads its answer into result, which may be nil.
func (p *Page) call(method string, params, result any) {
	p.t.Helper()
	if err := p.try(method, params, result); err != nil {
		p.t.Fatalf("%s: %v", method, err)
	}
}

// try calls a method of the browser and waits for its result.
func (p *tab) try(method string, params, result any) error {
	p.mu.Lock()
	if p.ended != nil {
		p.mu.Unlock()
		return p.ended
	}
	p.id++
	id, back := p.id, make(chan answer, 1)
	p.answers[id] = back
	p.mu.Unlock()
	message := map[string]any{"id": id, "method": method}
	if params != nil {
		message["params"] = params
	}
	if p.session != "" {
		message["sessionId"] = p.session
	}
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if _, err := p.to.Write(append(text, 0)); err != nil {
		return err
	}
	select {
	case m, ok := <-back:
		switch {
		case !ok:
			return errors.New("the browser has ended")
		case m.Error != nil:
			return errors.New(m.Error.Message)
		case result != nil:
			return json.Unmarshal(m.Result, result)
		}
		return nil
	case <-time.After(patience):
		return errors.New("the browser does not answer")
	}
}

// Go opens an address and waits until its page is loaded. Requests and problems from before are forgotten.
func (p *Page) Go(url string) {
	p.t.Helper()
	p.mu.Lock()
	p.requests, p.problems = nil, nil
	select {
	case <-p.loaded:
	default:
	}
	p.mu.Unlock()
	var to struct{ ErrorText string }
	p.call("Page.navigate", map[string]any{"url": url}, &to)
	if to.ErrorText != "" {
		p.t.Fatalf("%s: %s", url, to.ErrorText)
	}
	select {
	case <-p.loaded:
	case <-time.After(patience):
		p.t.Fatalf("%s is not loaded", url)
	}
}

// Eval evaluates an expression of JavaScript, waits for it where it is a promise, and reads its value into result,
// which may be nil.
func (p *Page) Eval(expression string, result any) {
	p.t.Helper()
	if err := p.eval(expression, result); err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
}

func (p *tab) eval(expression string, result any) error {
	var out struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	err := p.try("Runtime.evaluate", map[string]any{
		"expression": expression, "returnByValue": true, "awaitPromise": true,
	}, &out)
	switch {
	case err != nil:
		return err
	case out.ExceptionDetails != nil:
		return errors.New(out.ExceptionDetails.Text + " " + out.ExceptionDetails.Exception.Description)
	case result != nil && out.Result.Value != nil:
		return json.Unmarshal(out.Result.Value, result)
	}
	return nil
}

// Await waits until an expression is true.
func (p *Page) Await(expression string) {
	p.t.Helper()
	for start := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		var is bool
		if err := p.eval("!!("+expression+")", &is); err != nil {
			p.t.Fatalf("%s: %v", expression, err)
		} else if is {
			return
		} else if time.Since(start) > patience {
			p.t.Fatalf("it does not become true: %s", expression)
		}
	}
}

// Show sets the size of the window in pixels, and whether the system wishes dark colours.
func (p *Page) Show(width, height int, dark bool) {
	p.t.Helper()
	p.call("Emulation.setDeviceMetricsOverride", map[string]any{
		"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false,
	}, nil)
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	p.call("Emulation.setEmulatedMedia", map[string]any{
		"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}},
	}, nil)
}

// Keys of the keyboard that give no letter, by their number in browsers.
var keys = map[string]int{
	"Tab": 9, "Enter": 13, "Escape": 27, "Backspace": 8, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39,
	"ArrowDown": 40, "Home": 36, "End": 35, " ": 32,
}

// Press types keys one after the other: names of keys, or single letters; "Shift+" may stand before a name.
func (p *Page) Press(names ...string) {
	p.t.Helper()
	for _, name := range names {
		key, shift := strings.CutPrefix(name, "Shift+")
		e := map[string]any{"type": "keyDown", "key": key}
		if shift {
			e["modifiers"] = 8
		}
		if n, named := keys[key]; named {
			e["windowsVirtualKeyCode"], e["code"] = n, key
			if key == "Enter" {
				e["text"] = "\r"
			} else if key == " " {
				e["text"] = " "
			}
		} else {
			e["text"] = key
		}
		p.call("Input.dispatchKeyEvent", e, nil)
		e["type"] = "keyUp"
		delete(e, "text")
		p.call("Input.dispatchKeyEvent", e, nil)
	}
}

//go:embed check.js
var check string

// Check looks at what is shown now as a person with other eyes or without a mouse would, and says what does not hold:
// contrast of text, names of what can be reached, order, and nothing wider than the window.
func (p *Page) Check() (problems []string) {
	p.t.Helper()
	p.Eval(check, &problems)
	return problems
}

// Picture is what the window shows, as PNG.
func (p *Page) Picture() []byte {
	p.t.Helper()
	var shot struct{ Data string }
	p.call("Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	data, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		p.t.Fatal(err)
	}
	return data
}

// Requests are the addresses that the page has asked for, its own among them.
func (p *tab) Requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.requests...)
}

// Problems are the messages on the console, exceptions, and what the browser refused.
func (p *tab) Problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.problems...)
}
