package value

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

// FuzzJSON writes values of any content: a reader of JSON takes them, and gets back the text that
// was written if it was text.
func FuzzJSON(f *testing.F) {
	f.Add([]byte("plain"), int64(-1), true)
	f.Add([]byte("\x00\x1b[2J\"\\\n\u2028\xff\xc3"), int64(1)<<53+1, false)
	f.Fuzz(func(t *testing.T, s []byte, n int64, signed bool) {
		line := AppendJSONString(nil, s)
		var got string
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if utf8.Valid(s) && got != string(s) {
			t.Errorf("%q is read as %q", s, got)
		}
		if !utf8.Valid(s) && len([]rune(got)) == 0 {
			t.Errorf("%q is read as nothing", s)
		}
		nested := Record{Names: []string{string(s), "list", "rest"}, Values: []Value{
			Str(s), Tuple{Int(n), Uint(n), Buffer(s), Bool(signed), Text(s)}, Avg{Total: n, Count: n, Signed: signed},
		}}
		for _, text := range [][]byte{AppendJSON(nil, nested), AppendJSONKey(nil, nested.Values[1]),
			AppendJSON(nil, Stats{Total: n, Count: n, Signed: signed})} {
			if !json.Valid(text) {
				t.Errorf("%q is no JSON", text)
			}
		}
		var back struct{ List []json.RawMessage }
		if err := json.Unmarshal(AppendJSON(nil, Record{Names: []string{"list"}, Values: []Value{Tuple{Int(n)}}}),
			&back); err != nil || len(back.List) != 1 {
			t.Fatalf("%v, %q", err, back.List)
		}
		number := string(back.List[0])
		if text, ok := unquoted(number); ok {
			number = text
		}
		var read int64
		if err := json.Unmarshal([]byte(number), &read); err != nil || read != n {
			t.Errorf("%d is read as %s", n, back.List[0])
		}
	})
}

// unquoted is what is between the quotes of a JSON string.
func unquoted(s string) (string, bool) {
	if len(s) < 2 || s[0] != '"' {
		return s, false
	}
	return s[1 : len(s)-1], true
}
