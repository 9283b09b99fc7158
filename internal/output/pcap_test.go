package output

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"
	"time"
)

func TestPcap(t *testing.T) {
	var out bytes.Buffer
	p, err := NewPcap(&out)
	if err != nil {
		t.Fatal(err)
	}
	if out.Len() != 24 {
		t.Errorf("%d bytes of the header are written out, want 24", out.Len())
	}
	at := time.Unix(0x60000000, 999_999_999)
	for _, packet := range []struct {
		data   []byte
		length int
	}{{[]byte{0x45, 0, 0, 2}, 64}, {[]byte{0x60}, -3}} {
		if err := p.Packet(at, packet.data, packet.length); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Flush(); err != nil {
		t.Fatal(err)
	}
	const want = "d4c3b2a1" + "02000400" + "0000000000000000" + "ffff0000" + "65000000" +
		"00000060" + "3f420f00" + "04000000" + "40000000" + "45000002" +
		"00000060" + "3f420f00" + "01000000" + "01000000" + "60"
	if got := hex.EncodeToString(out.Bytes()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	out.Reset()
	if err := p.Packet(at, make([]byte, 70000), 70000); err != nil {
		t.Fatal(err)
	}
	p.Flush()
	if out.Len() != 16+65535 {
		t.Errorf("a packet of 70000 bytes takes %d, want what a file may have, 65535, and 16", out.Len())
	}
}

type failing struct{ left int }

func (f *failing) Write(b []byte) (int, error) {
	n := min(len(b), f.left)
	if f.left -= n; n < len(b) {
		return n, errors.New("full")
	}
	return n, nil
}

// An error is told once, and nothing is written behind it.
func TestPcapError(t *testing.T) {
	if _, err := NewPcap(&failing{10}); err == nil {
		t.Error("the header can not be written, and no error says so")
	}
	p, err := NewPcap(&failing{24})
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	for range 3 {
		p.Packet(time.Unix(1, 0), []byte{1}, 1)
		if p.Flush() != nil {
			told++
		}
	}
	if told != 1 {
		t.Errorf("an error is told %d times", told)
	}
	if p.Lost != 3 || p.Err() == nil {
		t.Errorf("%d packets are lost by %v, want 3", p.Lost, p.Err())
	}
}

// TestPcapLost fills the file amid packets that are written together: those without
// room are lost, and all that come later.
func TestPcapLost(t *testing.T) {
	p, err := NewPcap(&failing{24 + 3*17 + 5})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		p.Packet(time.Unix(1, 0), []byte{1}, 1)
	}
	if p.Flush() == nil {
		t.Error("no error says that the file is full")
	}
	p.Packet(time.Unix(1, 0), []byte{1}, 1)
	if p.Lost != 3 {
		t.Errorf("%d packets are lost, want 3", p.Lost)
	}
}
