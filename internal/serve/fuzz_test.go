package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// FuzzRequests has whatever comes on the input answered: each line by one valid message at most, with its number, and
// nothing ends the conversation. Programs are compiled, but not started, and probes are not listed.
func FuzzRequests(f *testing.F) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"compile","params":{"script":"begin { @[comm] = count(); }","name":"x.bt"}}`,
		`{"jsonrpc":"2.0","id":"a","method":"check","params":{"script":"begin { nothing(); }","args":["1"]}}`,
		`{"jsonrpc":"2.0","id":2,"method":"check","params":{"script":"begin { @ = 1; }","config":{"x":"y"},"pid":1}}`,
		`{"jsonrpc":"2.0","id":3,"method":"stats","params":{"id":9}}`,
		`{"jsonrpc":"2.0","id":[1,{"a":"\u2028"}],"method":"stop","params":{"id":1}}`,
		`{"jsonrpc":"2.0","id":4,"method":"map.take","params":{"id":1,"map":"@"}}`,
		`{"jsonrpc":"2.0","method":"check","params":{"script":"begin { }"}}`,
		`{"jsonrpc":"2.0","id":5,"method":"check","params":{"options":{"a":"1"},"script":"begin { }","take":true}}`,
		`{"jsonrpc":"1.0","id":6}`, `[]`, `null`,
		`{"jsonrpc":2,"id":1,"method":5}`, `{"id":null}`, `{"jsonrpc":"2.0","id":7,"method":"no such"}`,
		`{"jsonrpc":"2.0","id":8,"method":"check","params":[1]}`, "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"\xff\"}",
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		var asked []json.RawMessage
		var lines [][]byte
		for line := range bytes.SplitSeq(input, []byte("\n")) {
			var req struct {
				ID     json.RawMessage `json:"id"`
				Method string          `json:"method"`
			}
			err := json.Unmarshal(line, &req)
			if strings.EqualFold(req.Method, "start") || strings.EqualFold(req.Method, "probes") {
				continue
			}
			typed := (*json.UnmarshalTypeError)(nil)
			if lines = append(lines, line); (err == nil || errors.As(err, &typed)) && req.ID != nil {
				asked = append(asked, req.ID)
			}
		}
		var out bytes.Buffer
		if err := Run(context.Background(), bytes.NewReader(bytes.Join(lines, []byte("\n"))), &out); err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(out.Bytes()) {
			var m struct {
				Version string          `json:"jsonrpc"`
				ID      json.RawMessage `json:"id"`
				Method  string          `json:"method"`
				Result  json.RawMessage `json:"result"`
				Error   *failure        `json:"error"`
			}
			if err := json.Unmarshal(line, &m); err != nil || m.Version != "2.0" {
				t.Fatalf("%q answers %q: %v", input, line, err)
			}
			switch {
			case m.Method != "":
				continue // nobody asked for it
			case m.ID == nil, (m.Result == nil) == (m.Error == nil):
				t.Fatalf("%q answers %q", input, line)
			case len(asked) > 0 && compact(asked[0]) == compact(m.ID):
				asked = asked[1:]
			case string(m.ID) != "null" || m.Error == nil:
				t.Fatalf("%q answers %q, while %q waits", input, line, asked)
			}
		}
		if len(asked) > 0 {
			t.Fatalf("%q has no answer for %q", input, asked)
		}
	})
}

// compact is a JSON text without what its writer may choose: white space, and escapes that browsers want.
func compact(text json.RawMessage) string {
	var short, out bytes.Buffer
	if json.Compact(&short, text) != nil {
		return "no JSON"
	}
	json.HTMLEscape(&out, short.Bytes())
	return out.String()
}
