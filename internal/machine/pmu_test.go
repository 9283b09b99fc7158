package machine

import (
	"reflect"
	"strings"
	"testing"
)

const sources = `
-- sys/bus/event_source/devices/cpu/type --
4
-- sys/bus/event_source/devices/cpu/format/event --
config:0-7,32-35
-- sys/bus/event_source/devices/cpu/format/umask --
config:8-15
-- sys/bus/event_source/devices/cpu/format/inv --
config:23
-- sys/bus/event_source/devices/cpu/format/ldlat --
config1:0-15
-- sys/bus/event_source/devices/cpu/format/odd --
elsewhere:0-15
-- sys/bus/event_source/devices/cpu/format/wide --
config:60-70
-- sys/bus/event_source/devices/cpu/events/loads --
event=0xcd,umask=0x1,ldlat=3
-- sys/bus/event_source/devices/cpu/events/self --
self
-- sys/bus/event_source/devices/uncore_imc/type --
19
-- sys/bus/event_source/devices/uncore_imc/cpumask --
0,4
-- sys/bus/event_source/devices/software/type --
1
`

func TestPMUEvent(t *testing.T) {
	m := record(t, sources)
	for _, tt := range []struct {
		source, terms string
		want          PMUEvent
		err           string
	}{
		{"cpu", "event=0x5c0,umask=1,inv", PMUEvent{Type: 4, Config: [3]uint64{0x5_0080_01c0}}, ""},
		{"cpu", "loads", PMUEvent{Type: 4, Config: [3]uint64{0x1cd, 3}}, ""},
		{"cpu", "loads,ldlat=0xffff", PMUEvent{Type: 4, Config: [3]uint64{0x1cd, 0xffff}}, ""},
		{"cpu", "config=7,config2=9", PMUEvent{Type: 4, Config: [3]uint64{7, 0, 9}}, ""},
		{"software", "config=0", PMUEvent{Type: 1}, ""},
		{"uncore_imc", "config=1", PMUEvent{Type: 19, Config: [3]uint64{1}, CPUs: []int{0, 4}}, ""},
		{"cpu", "umask=0x100", PMUEvent{}, "umask of cpu: 0x100 does not fit in its 8 bits"},
		{"cpu", "inv=2", PMUEvent{}, "inv of cpu: 0x2 does not fit in its 1 bits"},
		{"cpu", "event=x", PMUEvent{}, "the value of event is not a number: x"},
		{"cpu", "nosuch", PMUEvent{}, "cpu has no event and no part of one called 'nosuch' (there are loads, self, " +
			"event, inv, ldlat, odd, umask, wide, config, config1, config2)"},
		{"cpu", "self", PMUEvent{}, "event self: cpu has no event and no part of one called 'self'"},
		{"cpu", "odd=1", PMUEvent{}, "odd of cpu: hawk does not know the format 'elsewhere:0-15'"},
		{"cpu", "wide=1", PMUEvent{}, "wide of cpu: hawk does not know the format 'config:60-70'"},
		{"cpu", "", PMUEvent{}, "'' is no part of an event of cpu"},
		{"cpu", "../type", PMUEvent{}, "'../type' is no part of an event of cpu"},
		{"nosuch", "x=1", PMUEvent{}, "no event source is called 'nosuch' (there are cpu, software, uncore_imc)"},
		{"../devices/cpu", "event=1", PMUEvent{}, "no event source is called '../devices/cpu'"},
	} {
		got, err := m.PMUEvent(tt.source, tt.terms)
		switch {
		case tt.err == "" && (err != nil || !reflect.DeepEqual(got, tt.want)):
			t.Errorf("%s/%s/: %+v, %v, want %+v", tt.source, tt.terms, got, err, tt.want)
		case tt.err != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.err)):
			t.Errorf("%s/%s/: %v, want %s", tt.source, tt.terms, err, tt.err)
		}
	}
}
