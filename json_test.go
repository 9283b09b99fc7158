package hawk_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/hawktrace/hawk"
)

// TestValueJSON: a value is the JSON that the command prints, and a type is its name.
func TestValueJSON(t *testing.T) {
	privileged(t)
	const script = `enum color { RED, GREEN }
begin {
	@h[1] = hist(5); @l = lhist(3, 0, 10, 2); @a = avg(3); @s = stats(4); @t = tseries(4, 1h, 3);
	@x[1, "a"] = (1, (n=2, t="q"));
	print((e=(enum color)1, d=(uint64)-1, b=buf("\xff", 1), s="\"", k=ksym(0), t=(1, true)));
	exit();
}`
	p, err := compile(t, script, nil)
	if err != nil {
		t.Fatal(err)
	}
	values := 0
	_, err = p.Run(context.Background(), &hawk.RunOptions{MapsOnExit: true, Output: each(func(e *hawk.Event) error {
		v := e.Value
		if e.Map != nil {
			v = e.Map.Entries[0].Value
		}
		if v.Type().Kind() == hawk.NoType {
			return nil
		}
		values++
		var line bytes.Buffer
		command := hawk.JSONOutput(&line)
		text, err := v.MarshalJSON()
		if err := errors.Join(err, command.Write(e), command.Flush()); err != nil {
			return err
		}
		if !bytes.Contains(line.Bytes(), text) {
			t.Errorf("the value is %s, the command prints %s", text, &line)
		}
		return nil
	})})
	if err != nil || values != 7 {
		t.Fatalf("%d values, %v", values, err)
	}
	for _, m := range p.Maps() {
		if name, err := m.Value.MarshalText(); string(name) != m.Value.String() || err != nil {
			t.Errorf("%s, %v", name, err)
		}
	}
	text, err := json.Marshal(p.Maps())
	if err != nil || !strings.Contains(string(text), `"Value":"hist_t"`) {
		t.Errorf("%s, %v", text, err)
	}
	if text, err := json.Marshal(hawk.Value{}); string(text) != "null" || err != nil {
		t.Errorf("%s, %v", text, err)
	}
}
