// Package wire is the conversation between the host and the agent inside a test VM, over one virtio
// serial port: the host sends a command, the agent streams its output back and then its exit
// status. One command runs at a time.
package wire

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// Port is the name of the virtio serial port.
const Port = "hawk.agent"

// A Kind says what a frame carries.
type Kind byte

const (
	Ready  Kind = 'B' // agent: booted, waits for a command; the payload is the kernel release
	Run    Kind = 'R' // host: a Command in JSON
	Stdout Kind = 'O' // agent: bytes of the command's standard output
	Stderr Kind = 'E' // agent: bytes of the command's standard error
	Exit   Kind = 'X' // agent: the command ended; the payload is its status in decimal, 128+n for signal n
	Failed Kind = 'F' // agent: the command could not be run; the payload says why
)

// MaxPayload bounds a frame's payload, in bytes.
const MaxPayload = 1 << 20

// A Command is a program to run in the VM.
type Command struct {
	Args []string
	Env  []string // added to the agent's environment
	Dir  string   // working directory; empty: /
	TTY  bool     // run on the VM's console, with a terminal of Rows × Cols; nothing is streamed
	Rows uint16
	Cols uint16
}

// Write sends one frame: kind, payload length as four bytes big endian, payload.
func Write(w io.Writer, kind Kind, payload []byte) error {
	if len(payload) > MaxPayload {
		return fmt.Errorf("frame of %d bytes is too long", len(payload))
	}
	buf := make([]byte, 0, 5+len(payload))
	buf = append(buf, byte(kind))
	buf = binary.BigEndian.AppendUint32(buf, uint32(len(payload)))
	_, err := w.Write(append(buf, payload...))
	return err
}

// WriteCommand sends a Run frame.
func WriteCommand(w io.Writer, c Command) error {
	payload, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return Write(w, Run, payload)
}

// Read receives one frame.
func Read(r io.Reader) (Kind, []byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > MaxPayload {
		return 0, nil, fmt.Errorf("frame of %d bytes is too long", n)
	}
	payload := make([]byte, n)
	if _, err := io.ReadFull(r, payload); err != nil {
		return 0, nil, err
	}
	return Kind(head[0]), payload, nil
}
