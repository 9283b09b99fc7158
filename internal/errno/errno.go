// Package errno words errors of the system as the C library does: "No such file or directory", not Go's "no such file or
// directory". Users search for the former, and other tools print it.
package errno

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Text is the text of an errno, of either sign.
func Text(code int) string {
	if code < 0 {
		code = -code
	}
	if code == 0 {
		return "Success"
	}
	text := unix.Errno(code).Error()
	if strings.HasPrefix(text, "errno ") {
		return "Unknown error " + strconv.Itoa(code)
	}
	if c := text[0]; 'a' <= c && c <= 'z' {
		return string(c-'a'+'A') + text[1:]
	}
	return text
}

// Reason is what the system said, without what was tried; an error that did
// not come from the system is its own reason.
func Reason(err error) string {
	var code unix.Errno
	switch {
	case errors.As(err, &code):
		return Text(int(code))
	case errors.Is(err, fs.ErrNotExist):
		return Text(int(unix.ENOENT))
	}
	return err.Error()
}

// Message is the whole text of an error, with the words of the system in it
// as C has them.
func Message(err error) string {
	text := err.Error()
	var code unix.Errno
	if !errors.As(err, &code) {
		return text
	}
	words, want := code.Error(), Text(int(code))
	if rest, ok := strings.CutPrefix(text, words); ok {
		text = want + rest
	}
	text = strings.ReplaceAll(text, ": "+words, ": "+want)
	return strings.ReplaceAll(text, "("+words, "("+want)
}
