package export

import (
	"bufio"
	"io"

	"github.com/hawktrace/hawk/internal/view"
)

// The file format of speedscope (github.com/jlfwong/speedscope): profiles of the type
// "sampled", whose stacks are numbers of frames that all share.
var _ = define(Format{
	Name: "speedscope", Ext: "speedscope.json", Takes: Profiles, Write: writeSpeedscope,
	Doc: "all profiles of the script, for speedscope",
})

// writeSpeedscope writes all profiles; frames are collected while samples are written and follow at
// the end.
func writeSpeedscope(out io.Writer, r *view.Run, maps []*view.Map, o Options) error {
	w := jsonWriter{bufio.NewWriter(out)}
	all := profiles(r, maps)
	type frame struct {
		name, file string
		line       int
	}
	hash := view.NewHasher()
	var numbers view.Index
	var frames []frame
	var path []view.FrameAt
	number := func(f *view.FrameAt) int {
		key := frame{name: frameName(f, o)}
		if f.Frame != nil {
			key.file, key.line = view.Line(f.File), f.Line
		}
		n, known := numbers.Number(hash.Of(key.name, key.line), func(n int) bool { return frames[n] == key })
		if !known {
			frames = append(frames, key)
		}
		return n
	}
	w.raw(`{"$schema":"https://www.speedscope.app/file-format-schema.json","profiles":[`)
	for i, p := range all {
		if i > 0 {
			w.raw(",")
		}
		w.raw("\n" + `{"type":"sampled","name":`)
		w.text(p.Map.Name)
		w.raw(`,"unit":`)
		w.text(speedscopeUnit(p.Types[p.Primary].Unit))
		// Stacks lie one behind the other, so that the range is the sum of weights.
		w.raw(`,"startValue":0,"endValue":`)
		w.int(p.Total())
		w.raw(`,"samples":[`)
		first := true
		p.Each(func(s *view.Sample) {
			if !first {
				w.raw(",")
			}
			first = false
			w.raw("[")
			// The format has stacks outermost first, as AppendPath has them.
			path = s.AppendPath(path[:0])
			for n := range path {
				if n > 0 {
					w.raw(",")
				}
				w.int(int64(number(&path[n])))
			}
			w.raw("]")
		})
		w.raw(`],"weights":[`)
		first = true
		p.Each(func(s *view.Sample) {
			if !first {
				w.raw(",")
			}
			first = false
			w.int(s.Values[p.Primary])
		})
		w.raw("]}")
	}
	w.raw(`],` + "\n" + `"shared":{"frames":[`)
	for i, f := range frames {
		if i > 0 {
			w.raw(",")
		}
		w.raw("\n" + `{"name":`)
		w.text(f.name)
		if f.file != "" {
			// A line without a file is no place.
			w.raw(`,"file":`)
			w.text(f.file)
			w.raw(`,"line":`)
			w.int(int64(f.line))
		}
		w.raw("}")
	}
	w.raw(`]},"name":`)
	w.text(view.Line(r.Script.Called()))
	w.raw(`,"activeProfileIndex":0,"exporter":`)
	w.text("hawk " + o.Version)
	w.raw("}\n")
	return w.Flush()
}

// speedscopeUnit is a unit as speedscope knows it.
func speedscopeUnit(unit string) string {
	switch unit {
	case "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes":
		return unit
	}
	// Other units are not known to speedscope, which would refuse the file.
	return "none"
}
