package session

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"slices"
	"testing"

	"github.com/hawktrace/hawk/internal/compile"
	"github.com/hawktrace/hawk/internal/hawktest/bound"
	"github.com/hawktrace/hawk/internal/load"
	"github.com/hawktrace/hawk/internal/machine"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/probe"
	"github.com/hawktrace/hawk/internal/source"
)

// records is a script whose programs send records of every make: fixed, with text, with nested
// values, with what is looked up when it comes.
const records = `
begin {
	printf("%d %s %x %c %-5d|%5s|%r", pid, comm, nsecs, 65, tid, str(0), buf(0, 9));
	print((1, ("x", true, (uint8)3), comm));
	print((a = 1, b = "text"));
	printf("%s %s %s", strftime("%H:%M:%S", nsecs), ntop(0x7f000001), macaddr(0));
	printf("%s %s %s", ksym(0), usym(0), strerror(2));
	print(kstack(3)); print(ustack(3));
	time("%H\n"); system("true %d", pid); cat("/none/%d", pid); errorf("%d", cpu);
	print(cgroup_path(cgroup)); print(1 == 1); print((int8)pid);
	@a[pid] = count(); print(@a); clear(@a); zero(@a); exit(7);
}`

// FuzzRecord acts on records that no program has sent: of every event, cut anywhere, with any
// content. What is written is JSON all the same.
func FuzzRecord(f *testing.F) {
	opts := probe.Options{Machine: machine.Recorded("../compile/testdata/machine"), Unsafe: true}
	res, ds := compile.Compile(source.NewFile("in.bt", records), compile.Options{
		Probe: opts,
	})
	if ds.HasErrors() {
		f.Fatal(ds.List())
	}
	for i := range res.Object.Events {
		head := binary.NativeEndian.AppendUint32(nil, uint32(i))
		f.Add(head)
		f.Add(append(head, make([]byte, 60)...))
		f.Add(append(head, bytes.Repeat([]byte{0xff}, 200)...))
		f.Add(append(head, bytes.Repeat([]byte("\x01\x00\x00\x00text\""), 20)...))
	}
	noMaps := slices.Repeat([]int{-1}, len(res.Object.Maps))
	f.Fuzz(func(t *testing.T, rec []byte) {
		bound.Run(t, len(rec), func() {
			var out bytes.Buffer
			loaded := &load.Session{Object: res.Object, Maps: noMaps}
			of := &Session{spec: Spec{Program: New(res), Probe: opts}, loaded: loaded, started: make(chan struct{})}
			s, err := newSession(of, Options{Sink: output.NewJSON(&out, io.Discard, output.Options{})})
			if err != nil {
				t.Fatal(err)
			}
			s.o.DryRun = true // what scripts start is not started
			s.dispatch(rec)
			s.sink.Flush()
			for line := range bytes.Lines(out.Bytes()) {
				if !json.Valid(line) {
					t.Errorf("%q is no JSON", line)
				}
			}
		})
	})
}
