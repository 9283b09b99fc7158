package show

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

// reply is an answer to a question about a name, with records as they lie there.
func reply(flags uint16, name string, records ...string) []byte {
	m := binary.BigEndian.AppendUint16([]byte("id"), flags)
	m = binary.BigEndian.AppendUint16(m, 1)
	m = binary.BigEndian.AppendUint16(m, uint16(len(records)))
	m = append(m, 0, 0, 0, 0)
	for label := range strings.SplitSeq(name, ".") {
		m = append(append(m, byte(len(label))), label...)
	}
	m = append(m, 0, 0, 1, 0, 1)
	return append(m, strings.Join(records, "")...)
}

// record is one about the name of the question, or of the record's own.
func record(name string, kind byte, data string) string {
	return name + "\x00" + string(kind) + "\x00\x01\x00\x00\x00\x3c\x00" + string(rune(len(data))) + data
}

const asked = "\xc0\x0c" // a pointer to the name of the question

func TestAnswer(t *testing.T) {
	four, six := record(asked, 1, "\x0a\x01\x02\x03"), record(asked, 28, "\xfd\x00"+strings.Repeat("\x00", 13)+"\x01")
	alias := record(asked, 5, "\x03cdn\xc0\x10")
	for _, c := range []struct {
		what string
		m    []byte
		want string
	}{
		{"address", reply(0x8180, "www.example.org", four), "www.example.org [10.1.2.3]"},
		{"two", reply(0x8180, "a.b", four, six), "a.b [10.1.2.3 fd00::1]"},
		{"alias", reply(0x8180, "www.example", alias, record("\x03cdn\xc0\x10", 1, "\x01\x02\x03\x04")),
			"www.example [1.2.3.4]"},
		{"question", reply(0x0100, "www.example", four), " []"},
		{"no such name", reply(0x8183, "www.example", four), " []"},
		{"no records", reply(0x8180, "www.example"), "www.example []"},
		{"short address", reply(0x8180, "a.b", record(asked, 1, "\x01\x02")), "a.b []"},
		{"hostile name", reply(0x8180, "a\x1b[2J.b", four), " []"},
		{"dot in a label", reply(0x8180, "a", four)[:12], " []"},
		{"own pointer", reply(0x8180, "a.b", record("\xc0\x16", 1, "\x01\x02\x03\x04")), "a.b [1.2.3.4]"},
		{"reserved label", reply(0x8180, "a.b", record("\x80x", 1, "\x01\x02\x03\x04")), "a.b []"},
		{"empty", nil, " []"},
		{"name like an address", reply(0x8180, "10.0.0.1", four), " []"},
		{"root", reply(0x8180, "", four), " []"},
	} {
		name, addrs := answer(c.m)
		if got := name + " " + fmt.Sprint(addrs); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
	whole := reply(0x8180, "www.example.org", alias, four, six)
	for n := range whole { // cut anywhere, it is read as far as it goes
		if name, addrs := answer(whole[:n]); len(addrs) > 1 || len(addrs) == 1 && name != "www.example.org" {
			t.Errorf("%d bytes: %q %v", n, name, addrs)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add(reply(0x8180, "www.example.org", record(asked, 1, "\x0a\x01\x02\x03")))
	f.Fuzz(func(t *testing.T, m []byte) {
		name, addrs := answer(m)
		if len(name) > 320 || len(addrs) > maxAnswers || name == "" && addrs != nil {
			t.Errorf("%q has %d addresses", name, len(addrs))
		}
		for _, c := range []byte(name) {
			if c <= ' ' || c >= 0x7f {
				t.Errorf("the name %q has a byte that a terminal acts on", name)
			}
		}
	})
}
