package usdt_test

import (
	"errors"
	"fmt"
	"log"
	"net/http"

	"github.com/hawktrace/hawk/usdt"
)

var (
	shop   = usdt.New("shop")
	sold   = usdt.NewMark2[string, int64](shop, "sold")
	failed = usdt.NewMark1[string](shop, "failed")
	phases = shop.Mark("phases", usdt.Uint64, usdt.Uint64, usdt.Uint64, usdt.Uint64, usdt.Uint64,
		usdt.Uint64, usdt.Uint64)
)

// A program declares its marks, loads them when it starts, and fires them. With it running,
//
//	hawk -p PID -e 'usdt:*:shop:sold { @cents[str(arg0)] = sum(arg1) }'
//
// prints what it sells.
func Example() {
	if err := shop.Load(nil); err != nil {
		log.Print(err) // the program goes on, its marks never fire
	}
	defer shop.Close()
	sold.Fire("tea", 350)
}

// Arguments that take time to find out are found out only for a tracer.
func ExampleMark1_Enabled() {
	err := errors.New("the kettle is empty")
	if failed.Enabled() {
		failed.Fire(err.Error())
	}
}

// Mark takes up to twelve words.
func ExampleProvider_Mark() {
	phases.Fire(1, 2, 3, 5, 8, 13, 21)
}

// A page for debugging shows what can be traced.
func ExampleMarks() {
	http.HandleFunc("/debug/marks", func(w http.ResponseWriter, r *http.Request) {
		for m := range usdt.Marks() {
			fmt.Fprintf(w, "usdt:%s:%s:%s %s enabled=%v\n", m.Path, m.Provider, m.Name, m.Args, m.Enabled)
		}
	})
}
