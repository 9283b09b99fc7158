package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/hawktrace/hawk/internal/compile/dump"
	"github.com/hawktrace/hawk/internal/errno"
	"github.com/hawktrace/hawk/internal/load"
	"github.com/hawktrace/hawk/internal/object"
)

// irFiles are the stages whose IR --emit-llvm writes, by what is added to the
// prefix.
var irFiles = []struct{ stage, suffix string }{{"ir", ".original.ir"}, {"opt", ".optimized.ir"}}

// writeIR has stages dumped to files as well, if --emit-llvm wants them; written writes the files
// once the script is compiled. A stage that -d shows as well goes to both places.
func (c *command) writeIR(dumps dump.Writers) (written func() error) {
	texts := make([]bytes.Buffer, len(irFiles))
	if c.emitIR != "" {
		for i, f := range irFiles {
			if w := dumps[f.stage]; w != nil {
				dumps[f.stage] = io.MultiWriter(w, &texts[i])
			} else {
				dumps[f.stage] = &texts[i]
			}
		}
	}
	return func() error {
		for i, f := range irFiles {
			if texts[i].Len() == 0 {
				continue
			}
			if err := os.WriteFile(c.emitIR+f.suffix, texts[i].Bytes(), 0o666); err != nil {
				return fmt.Errorf("cannot write '%s': %s", c.emitIR+f.suffix, errno.Reason(err))
			}
		}
		return nil
	}
}

// writeELF writes the object to the file that --emit-elf names. The file is written when everything
// has been encoded: an object that cannot be encoded leaves no half of one.
func (c *command) writeELF(o *object.Object) error {
	if c.emitELF == "" {
		return nil
	}
	var b bytes.Buffer
	err := load.WriteELF(&b, o)
	if err == nil {
		err = os.WriteFile(c.emitELF, b.Bytes(), 0o666)
	}
	if err != nil {
		return fmt.Errorf("cannot write '%s': %s", c.emitELF, errno.Reason(err))
	}
	return nil
}
