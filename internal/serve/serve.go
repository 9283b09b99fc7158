// Package serve lets programs in other languages use hawk: JSON-RPC 2.0 on two
// streams, one object a line. Several scripts run at a time, each by the number that
// compile gave it. When the input ends everything is detached.
package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/hawktrace/hawk"
)

// maxLine bounds a request, in bytes.
const maxLine = 16 << 20

// A server is one conversation.
type server struct {
	ctx  context.Context
	mu   sync.Mutex // of what follows, and of writing
	out  io.Writer
	err  error // of writing
	next int
	runs map[int]*run
}

// A run is a compiled script, started or not.
type run struct {
	prog    *hawk.Program
	session *hawk.Session // nil until it is started
	ended   chan struct{} // closed once its events are over
}

// A message is a request, a response or a notification.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *failure        `json:"error,omitempty"`
}

// A failure is the error of a response.
type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// The codes of JSON-RPC, and that of what hawk refuses.
const (
	parseError    = -32700
	badRequest    = -32600
	unknownMethod = -32601
	badParams     = -32602
	refused       = 1
)

// Run answers requests until the input ends, and stops all that runs then. The error
// is that of reading or writing.
func Run(ctx context.Context, in io.Reader, out io.Writer) error {
	s := &server{ctx: ctx, out: out, runs: map[int]*run{}}
	lines := bufio.NewReader(in)
	var err error
	// A last line without its newline is a request, too: it comes together with the end of the
	// input.
	for err == nil {
		var line []byte
		if line, err = s.line(lines); len(line) > 0 {
			s.answer(line)
		}
	}
	// All is detached before anything waits for who reads the last events, which may be nobody.
	for _, r := range s.runs {
		if r.session != nil {
			r.session.Close()
		}
	}
	for _, r := range s.runs {
		if r.session != nil {
			<-r.ended
		}
	}
	if err == io.EOF {
		err = nil
	}
	return errors.Join(err, s.err)
}

// line is the next one without what is blank around it. One that is too long is refused and
// passed over.
func (s *server) line(in *bufio.Reader) (line []byte, err error) {
	long := false
	for {
		part, err := in.ReadSlice('\n')
		// A line that is too long is read to its end, so that the next line is a request again.
		if long = long || len(line)+len(part) > maxLine; !long {
			line = append(line, part...)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if long {
			line = nil
			message := fmt.Sprintf("a request has at most %d bytes", maxLine)
			s.respond(nil, nil, &failure{Code: badRequest, Message: message})
		}
		return bytes.TrimSpace(line), err
	}
}

// answer acts on one request.
func (s *server) answer(line []byte) {
	var req struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  string          `json:"method"`
		Params  json.RawMessage `json:"params"`
	}
	err := json.Unmarshal(line, &req)
	// JSON-RPC tells what is no JSON from JSON that is no request.
	if typed := (*json.UnmarshalTypeError)(nil); err != nil && !errors.As(err, &typed) {
		s.write(message{ID: json.RawMessage("null"), Error: &failure{Code: parseError, Message: err.Error()}})
		return
	}
	if err != nil || req.Version != "2.0" || req.Method == "" {
		s.respond(req.ID, nil, &failure{Code: badRequest, Message: "this is no request of JSON-RPC 2.0"})
		return
	}
	var p params
	if len(req.Params) > 0 {
		if err := p.read(req.Params); err != nil {
			s.respond(req.ID, nil, &failure{Code: badParams, Message: err.Error()})
			return
		}
	}
	do := methods[req.Method]
	if do == nil {
		s.respond(req.ID, nil, &failure{Code: unknownMethod, Message: "there is no method " + req.Method})
		return
	}
	result, err := do(s, &p)
	if err != nil {
		// Diagnostics of a script travel as data too, for editors that show them at their place.
		f := &failure{Code: refused, Message: err.Error()}
		if ds := hawk.Diagnostics(nil); errors.As(err, &ds) {
			f.Data = diagnostics(ds)
		}
		s.respond(req.ID, nil, f)
		return
	}
	// A response without a result would be no response: omitempty leaves out what is nil.
	if result == nil {
		result = struct{}{}
	}
	s.respond(req.ID, result, nil)
}

// respond answers a request that wants an answer.
func (s *server) respond(id json.RawMessage, result any, f *failure) {
	if id != nil || f != nil && f.Code == badRequest {
		if id == nil {
			id = json.RawMessage("null")
		}
		s.write(message{ID: id, Result: result, Error: f})
	}
}

// notify tells something that nobody asked for.
func (s *server) notify(method string, params any) { s.write(message{Method: method, Params: params}) }

// write writes a line. After the first error there is nobody to write to.
func (s *server) write(m message) {
	m.Version = "2.0"
	line, err := json.Marshal(m)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && s.err == nil {
		_, err = s.out.Write(append(line, '\n'))
	}
	if s.err == nil {
		s.err = err
	}
}

// find is the run that a request names.
func (s *server) find(id int, started bool) (*run, error) {
	r := s.runs[id]
	switch {
	case r == nil:
		return nil, fmt.Errorf("there is no program %d", id)
	case started && r.session == nil:
		return nil, fmt.Errorf("program %d is not started", id)
	}
	return r, nil
}
