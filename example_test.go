package hawk_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hawktrace/hawk"
	"github.com/hawktrace/hawk/usdt"
)

// TestMain leaves out the examples that start programs where that is not allowed.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := hawk.Host().Privileges(); err != nil {
		fmt.Fprintln(os.Stderr, "examples that start programs are skipped:", err)
		flag.Set("test.skip", "^Example_")
	}
	os.Exit(m.Run())
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// run compiles and starts a script for this very process, in which marks fire.
func run(script string) *hawk.Session {
	ctx := context.Background()
	prog, err := hawk.Compile(ctx, &hawk.Script{Text: script}, &hawk.CompileOptions{PID: os.Getpid()})
	check(err)
	s, err := prog.Start(ctx, nil)
	check(err)
	return s
}

// The index of a test server, printed when its mark is passed.
func Example_printArguments() {
	server := usdt.New("test_grp")
	mark := usdt.NewMark1[int32](server, "test_idx")
	check(server.Load(nil))
	defer server.Close()

	s := run(`usdt:*:test_grp:test_idx { print((idx=(int32)arg0)); }`)
	defer s.Close()
	for i := range int32(3) {
		mark.Fire(i + 1)
	}
	type tick struct{ Idx int32 }
	for t, err := range hawk.Decoded[tick](s, nil) {
		check(err)
		fmt.Printf("test_idx=%d tracepoint caught\n", t.Idx)
		if t.Idx == 3 {
			break
		}
	}
	// Output:
	// test_idx=1 tracepoint caught
	// test_idx=2 tracepoint caught
	// test_idx=3 tracepoint caught
}

// Somebody transfers a file: a string is compared in the kernel.
func Example_compareStrings() {
	python := usdt.New("python")
	entry := usdt.NewMark3[string, string, int32](python, "function__entry")
	check(python.Load(nil))
	defer python.Close()

	s := run(`usdt:*:python:function__entry / str(arg1) == "copyfile" / { print("Someone is transferring a file!"); }`)
	defer s.Close()
	for _, function := range []string{"log_request", "copyfile", "end_headers"} {
		entry.Fire("server.py", function, 1)
	}
	for text, err := range hawk.Decoded[string](s, nil) {
		check(err)
		fmt.Println(text)
		break
	}
	// Output: Someone is transferring a file!
}

// A web server's transfers as values of a struct.
func Example_records() {
	server := usdt.New("simplehttp")
	mark := usdt.NewMark3[string, string, uint32](server, "file_transfer")
	check(server.Load(nil))
	defer server.Close()

	type transfer struct {
		Timestamp time.Duration `hawk:"ts"`
		ClientIP  string        `hawk:"ip"`
		Path      string        `hawk:"path"`
		Size      uint32        `hawk:"size"`
	}
	s := run(`usdt:*:simplehttp:file_transfer {
		print((ts=nsecs, ip=str(arg0), path=str(arg1), size=(uint32)arg2));
	}`)
	defer s.Close()
	mark.Fire("127.0.0.1", "/index.html", 4096)
	for t, err := range hawk.Decoded[transfer](s, nil) {
		check(err)
		known := t.Timestamp > 0
		fmt.Printf("%s is downloading file %s (%d bytes), at a known time: %t\n", t.ClientIP, t.Path, t.Size, known)
		break
	}
	// Output: 127.0.0.1 is downloading file /index.html (4096 bytes), at a known time: true
}

// Maps are read while the script runs.
func Example_maps() {
	s := run(`begin { @reads["a.txt"] = 3; @reads["b.txt"] = 5; } interval:s:1 { }`)
	defer s.Close()
	m, err := s.Map("@reads")
	check(err)
	for file, n := range hawk.Entries[string, uint64](m) {
		fmt.Println(file, n)
	}
	// Output:
	// a.txt 3
	// b.txt 5
}

// The output of the command goes wherever a writer leads.
func Example_output() {
	ctx := context.Background()
	prog, err := hawk.Compile(ctx, &hawk.Script{Text: `begin { printf("hello %d\n", 1); @n = 2; exit(); }`}, nil)
	check(err)
	var out, messages bytes.Buffer
	r, err := prog.Run(ctx, &hawk.RunOptions{Output: hawk.TextOutput(&out, &messages), MapsOnExit: true})
	check(err)
	fmt.Printf("%q, status %d\n", out.String(), r.Status)
	// Output: "hello 1\n\n\n@n: 2\n", status 0
}

// Three sessions at once know nothing of each other.
func Example_sideBySide() {
	var total uint64
	for i := range 3 {
		s := run(fmt.Sprintf(`begin { print(%d); } interval:s:1 { }`, i+1))
		defer s.Close()
		for n, err := range hawk.Decoded[uint64](s, nil) {
			check(err)
			total += n
			break
		}
	}
	fmt.Println(total)
	// Output: 6
}

// A program that is compiled on one machine, sent, and run on another one.
func Example_portable() {
	ctx := context.Background()
	prog, err := hawk.Compile(ctx, &hawk.Script{Text: `begin { print((n=(int32)5)); exit(); }`},
		&hawk.CompileOptions{Portable: true})
	check(err)
	var sent bytes.Buffer
	_, err = prog.WriteTo(&sent)
	check(err)

	received, err := hawk.Load(&sent)
	check(err)
	s, err := received.Start(ctx, nil)
	check(err)
	defer s.Close()
	for rec, err := range hawk.Decoded[struct{ N int }](s, nil) {
		check(err)
		fmt.Println(rec.N)
	}
	// Output: 5
}

// A test of a script needs no privileges.
func ExampleCheck() {
	script := &hawk.Script{Name: "reads.bt", Text: `interval:s:1 { @n = cuont(); }`}
	_, err := hawk.Check(context.Background(), script, nil)
	var ds hawk.Diagnostics
	if errors.As(err, &ds) {
		d := ds[0]
		fmt.Printf("%d:%d %s\nfix: %s\n", d.Span.Start.Line, d.Span.Start.Column, d.Message, d.Fix.Text)
	}
	// Output:
	// 1:21 Unknown function: 'cuont'
	// fix: count
}

// A script of somebody else's is held to a policy.
func ExamplePolicy() {
	script := &hawk.Script{Text: `begin { system("reboot"); }`}
	_, err := hawk.Compile(context.Background(), script, &hawk.CompileOptions{
		Unsafe: true,
		Policy: &hawk.Policy{Deny: []string{"system"}},
	})
	fmt.Println(errors.Is(err, hawk.ErrPolicy))
	fmt.Println(err)
	// Output:
	// true
	// script:1:9-25: ERROR: The function system is not permitted
	// begin { system("reboot"); }
	//         ~~~~~~~~~~~~~~~~
}

// Probes are listed as hawk -l does.
func ExampleMachine_Probes() {
	for p, err := range hawk.Host().Probes(context.Background(), "software:page*", nil) {
		check(err)
		fmt.Println(p.Kind, p.Name)
	}
	// Output: software software:page-faults:
}

//go:noinline
func placeOrder(m *usdt.Mark0) { m.Fire() }

// A stack profile: where a program passes a mark, by frames.
func Example_stackProfile() {
	shop := usdt.New("shop")
	mark := usdt.NewMark0(shop, "order")
	check(shop.Load(nil))
	defer shop.Close()

	s := run(`usdt:*:shop:order { @[ustack] = count(); }`)
	defer s.Close()
	for range 3 {
		placeOrder(mark)
	}
	m, err := s.Map("@")
	check(err)
	for stack, n := range m.All() {
		var frames []hawk.Frame
		check(stack.Decode(&frames))
		for _, f := range frames {
			if strings.HasSuffix(f.Func, ".placeOrder") {
				fmt.Printf("%s calls from placeOrder, whose address is known: %t\n", n, f.Addr != 0)
			}
		}
	}
	// Output:
	// 3 calls from placeOrder, whose address is known: true
}
