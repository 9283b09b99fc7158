package hawk_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/hawktrace/hawk"
)

// TestZeroValues calls every method of values that nobody has made, with arguments that are nothing
// either. None may panic, but an index that is none.
func TestZeroValues(t *testing.T) {
	for _, v := range []any{
		new(hawk.Session), new(hawk.Program), new(hawk.Map), new(hawk.Machine), new(hawk.Value), new(hawk.Type),
		new(hawk.Event), new(hawk.Stack), new(hawk.Diagnostics), new(hawk.DecodeError), new(hawk.AttachError),
		new(hawk.BindError), new(hawk.VerifierError), new(hawk.PermissionError), new(hawk.FeatureError),
		new(hawk.Severity), new(hawk.Kind), new(hawk.Overflow), new(hawk.Reason), new(hawk.TypeKind),
		hawk.TextOutput(nil, nil), hawk.JSONOutput(nil),
		(*hawk.Session)(nil), // of a Start that failed, closed before its error is looked at
	} {
		of := reflect.ValueOf(v)
		for m := range of.Type().Methods() {
			if m.Name != "At" && m.Name != "Instructions" && m.Name != "Spoilt" { // the last two are of tests
				t.Run(of.Type().String()+"."+m.Name, func(t *testing.T) { callZero(t, of.MethodByName(m.Name)) })
			}
		}
	}
	var s hawk.Session
	for _, err := range hawk.Decoded[int](&s, nil) {
		if err == nil {
			t.Error("Decoded of no session has a value")
		}
	}
	for range hawk.Entries[int, int](new(hawk.Map)) {
		t.Error("Entries of no map has one")
	}
	if _, err := (*hawk.Program)(nil).Start(t.Context(), nil); err == nil {
		t.Error("no program starts")
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing a session that never was: %v", err)
	}
	if _, err := hawk.Compile(t.Context(), &hawk.Script{Text: "begin { }"}, &hawk.CompileOptions{
		Machine: new(hawk.Machine)}); err == nil {
		t.Error("a script is compiled for no machine")
	}
}

// callZero calls a function with zero values, and ranges over what it returns.
func callZero(t *testing.T, f reflect.Value) {
	var args []reflect.Value
	for i := range f.Type().NumIn() {
		arg := reflect.Zero(f.Type().In(i))
		if arg.Type() == reflect.TypeFor[context.Context]() {
			arg = reflect.ValueOf(t.Context())
		}
		args = append(args, arg)
	}
	if f.Type().IsVariadic() {
		args = args[:len(args)-1]
	}
	for _, out := range f.Call(args) {
		if err, ok := out.Interface().(error); ok && err != nil {
			t.Log(err)
		}
		switch {
		case out.Kind() != reflect.Func:
		case out.Type().CanSeq2():
			for _, err := range out.Seq2() {
				t.Log(err)
			}
		case out.Type().CanSeq():
			for range out.Seq() {
				t.Error("nothing yields something")
			}
		}
	}
}
