package aot

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/hawktrace/hawk/internal/object"
	"github.com/hawktrace/hawk/internal/probe"
)

// An object is a payload by itself, without an executable around it: magic, format, the
// digest of the rest, and then the version of hawk that wrote it and the payload, each behind
// its length. All numbers are little-endian.
const (
	objectMagic = "hawk\x00obj"
	headSize    = len(objectMagic) + 4 + sha256.Size
	maxVersion  = 256
)

// Format is the number of the format of objects. It grows with each change of what a
// payload holds.
const Format = 3

// OtherFormat is an object of a format that this version of hawk does not read.
// Programs that keep objects compile again when they meet it.
type OtherFormat struct{ Have uint32 }

// Error says both numbers: an object may be too new as well.
func (e *OtherFormat) Error() string {
	return fmt.Sprintf("the object has format %d, and this version of hawk reads %d: compile it again", e.Have, Format)
}

// ErrDamaged is an object that was cut or changed, or is none.
var ErrDamaged = errors.New("the object is damaged")

// Seal is an object of a payload as bytes.
// The version is kept for messages. Formats decide whether an object can be read.
func Seal(version string, payload []byte) []byte {
	rest := binary.LittleEndian.AppendUint32(nil, uint32(len(version)))
	rest = append(rest, version...)
	rest = binary.LittleEndian.AppendUint64(rest, uint64(len(payload)))
	rest = append(rest, payload...)
	digest := sha256.Sum256(rest)
	out := binary.LittleEndian.AppendUint32([]byte(objectMagic), Format)
	return append(append(out, digest[:]...), rest...)
}

// Open reads an object: its payload, the version that wrote it, and the digest, which
// fits the rest. No more is read than an object may have.
func Open(r io.Reader) (payload []byte, version string, digest [sha256.Size]byte, err error) {
	fail := func(err error) ([]byte, string, [sha256.Size]byte, error) { return nil, "", digest, err }
	b, err := io.ReadAll(io.LimitReader(r, int64(maxPayload+headSize+maxVersion+13)))
	switch {
	case err != nil:
		return fail(err)
	case len(b) < headSize || string(b[:len(objectMagic)]) != objectMagic:
		return fail(fmt.Errorf("%w: it does not begin as objects of hawk do", ErrDamaged))
	}
	if have := binary.LittleEndian.Uint32(b[len(objectMagic):]); have != Format {
		return fail(&OtherFormat{have})
	}
	rest := b[headSize:]
	digest = sha256.Sum256(rest)
	if !bytes.Equal(digest[:], b[headSize-sha256.Size:headSize]) || len(rest) < 4 {
		return fail(ErrDamaged)
	}
	n := binary.LittleEndian.Uint32(rest)
	if rest = rest[4:]; n > maxVersion || len(rest) < int(n)+8 {
		return fail(ErrDamaged)
	}
	version, rest = string(rest[:n]), rest[n:]
	size := binary.LittleEndian.Uint64(rest)
	if rest = rest[8:]; size > maxPayload || size != uint64(len(rest)) {
		return fail(ErrDamaged)
	}
	return rest, version, digest, nil
}

// Layout has the maps, events and options of the first variant, without programs.
// All variants have the same maps and events, as they are of one script.
func (p *Payload) Layout() *object.Object { return &p.Variants[0].object }

// Groups are the programs of the first variant, as they were compiled.
func (p *Payload) Groups() []*probe.Stored {
	var out []*probe.Stored
	for _, pr := range p.Variants[0].programs {
		out = append(out, pr.group)
	}
	return out
}
