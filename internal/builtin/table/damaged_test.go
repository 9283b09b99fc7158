package table

import (
	"errors"
	"testing"
	"time"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/config"
	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/output"
	"github.com/hawktrace/hawk/internal/source"
	"github.com/hawktrace/hawk/internal/types"
	"github.com/hawktrace/hawk/internal/value"
)

// A deafEnv takes what handlers do and has nothing for them.
type deafEnv struct{ builtin.Env }

func (deafEnv) Config() *config.Config                                      { return config.Default() }
func (deafEnv) Emit(output.Item)                                            {}
func (deafEnv) Decode(a object.Arg, _ []byte) value.Value                   { return value.Decode(a.Type, nil, nil) }
func (deafEnv) Bytes(object.Arg, []byte) []byte                             { return nil }
func (deafEnv) Format([]byte, *object.Event, []byte) []byte                 { return nil }
func (deafEnv) FormatMessage(*object.Event, []byte) string                  { return "" }
func (deafEnv) Message(value.Value) string                                  { return "" }
func (deafEnv) Escapes() output.Escapes                                     { return output.Escapes{} }
func (deafEnv) Printf(*object.Event, []byte)                                {}
func (deafEnv) PrintMap(int, source.Span, int64, int64)                     {}
func (deafEnv) Unstored() uint64                                            { return 0 }
func (deafEnv) ClearMap(int)                                                {}
func (deafEnv) ZeroMap(int)                                                 {}
func (deafEnv) Exit(int)                                                    {}
func (deafEnv) Unwind(int)                                                  {}
func (deafEnv) BootTime() time.Time                                         { return time.Time{} }
func (deafEnv) Started() uint64                                             { return 0 }
func (deafEnv) Now() time.Time                                              { return time.Time{} }
func (deafEnv) Learn(string, string)                                        {}
func (deafEnv) System(string) (int, error)                                  { return 0, nil }
func (deafEnv) ReadFile(string, int) ([]byte, error)                        { return nil, errors.New("none") }
func (deafEnv) Capture(string) (*output.Pcap, error)                        { return nil, errors.New("none") }
func (deafEnv) Unwatch(uint64) bool                                         { return false }
func (deafEnv) Errorf(string, ...any)                                       {}
func (deafEnv) Warnf(source.Span, string, ...any)                           {}
func (deafEnv) FormatSome(string, *object.Event, int, []byte) (int, []byte) { return 0, nil }

func (deafEnv) ReadMap(int, bool) (output.Entries, error) {
	return output.EntriesOf(output.Entry{Key: value.Tuple{value.Int(1), value.Int(2)}, Value: value.Int(3)}), nil
}

// TestDamagedEvents has events handled that are not what the compiler makes: they may come from a
// file, of which nobody has looked at what a builtin makes of its numbers.
func TestDamagedEvents(t *testing.T) {
	arg := object.Arg{Type: types.Int64, Offset: 8}
	for _, f := range builtin.All() {
		if f.Handle == nil {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			for _, m := range []int{-1, 0} {
				for _, extra := range [][]int64{nil, {1}, {-1, -1}, {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
					{0, 0, 0, 0, 2, 0, 1 << 62, 1 << 62, 1 << 62, 1 << 62}, {1 << 62}} {
					for _, args := range [][]object.Arg{nil, {arg}} {
						for _, text := range []string{"", "A B C", "A B | %d"} {
							for _, size := range []int{0, 8, 64} {
								ev := &object.Event{Builtin: f.Name, Map: m, Extra: extra, Args: args, Text: text}
								f.Handle(deafEnv{}, ev, make([]byte, size))
							}
						}
					}
				}
			}
		})
	}
}
