package wire

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRoundTrip(t *testing.T) {
	var buf bytes.Buffer
	want := Command{Args: []string{"echo", "a b"}, Env: []string{"X=1"}, Dir: "/tmp", TTY: true, Rows: 24, Cols: 80}
	if err := WriteCommand(&buf, want); err != nil {
		t.Fatal(err)
	}
	if err := Write(&buf, Stdout, nil); err != nil {
		t.Fatal(err)
	}
	kind, payload, err := Read(&buf)
	if err != nil || kind != Run {
		t.Fatalf("Read = %c, %v; want R", kind, err)
	}
	var got Command
	if err := json.Unmarshal(payload, &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if kind, payload, err := Read(&buf); err != nil || kind != Stdout || len(payload) != 0 {
		t.Errorf("Read = %c, %q, %v; want an empty O", kind, payload, err)
	}
}

func TestTooLong(t *testing.T) {
	if err := Write(&bytes.Buffer{}, Stdout, make([]byte, MaxPayload+1)); err == nil {
		t.Error("Write accepted a frame that is too long")
	}
	if _, _, err := Read(bytes.NewReader([]byte{'O', 0xff, 0, 0, 0})); err == nil {
		t.Error("Read accepted a frame that is too long")
	}
	if _, _, err := Read(bytes.NewReader([]byte{'O', 0, 0, 0, 2, 'x'})); err == nil {
		t.Error("Read accepted a truncated frame")
	}
}
