// Package errno words errors of the system as the C library does: "No such file or directory", not
// Go's "no such file or directory". Users search for the former, and other tools print it.
package errno

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// NotSupported is ENOTSUPP: of a place whose instruction the kernel cannot run
// elsewhere, or a program that it cannot compile.
const NotSupported = unix.Errno(524)

// internal are errors that the kernel keeps to itself, or should: the C library
// has no text for them. Several reach users of BPF, 524 most of all.
var internal = map[int]string{
	512: "The system call is to be started again, ERESTARTSYS",
	513: "The system call is to be started again, ERESTARTNOINTR",
	514: "The system call is to be started again, ERESTARTNOHAND",
	515: "No such ioctl command, ENOIOCTLCMD",
	516: "The system call is to be started again, ERESTART_RESTARTBLOCK",
	517: "To be tried again later, EPROBE_DEFER",
	518: "The open file is stale, EOPENSTALE",
	519: "Parameter not supported, ENOPARAM",
	521: "Illegal file handle, EBADHANDLE",
	522: "Update synchronization mismatch, ENOTSYNC",
	523: "Cookie is stale, EBADCOOKIE",
	524: "Operation not supported by this kernel, ENOTSUPP",
	525: "Buffer or request is too small, ETOOSMALL",
	526: "Untranslatable error, ESERVERFAULT",
	527: "Type not supported, EBADTYPE",
	528: "Request will not be completed before a timeout, EJUKEBOX",
	529: "Queued, the result comes later, EIOCBQUEUED",
	530: "Conflict with a recalled state, ERECALLCONFLICT",
	531: "NFS server in its grace period, ENOGRACE",
}

// Among reports whether err is one of some errors of the system.
func Among(err error, some ...unix.Errno) bool {
	for _, e := range some {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// Text is the text of an errno, of either sign.
func Text(code int) string {
	if code < 0 {
		code = -code
	}
	if code == 0 {
		return "Success"
	}
	if meaning := internal[code]; meaning != "" {
		return meaning + " (kernel error " + strconv.Itoa(code) + ")"
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

// advised is the text of an errno, and what to do where that is the same
// whatever was tried.
func advised(code unix.Errno) string {
	text := Text(int(code))
	switch code {
	case unix.EMFILE:
		var limit unix.Rlimit
		unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) // which does not fail
		text += "; the limit is " + strconv.FormatUint(limit.Cur, 10) + ", raise it (ulimit -n)"
	case unix.ENFILE:
		text += "; raise the sysctl fs.file-max"
	}
	return text
}

// Reason is what the system said, without what was tried; an error that did
// not come from the system is its own reason.
func Reason(err error) string {
	var code unix.Errno
	switch {
	case errors.As(err, &code):
		return advised(code)
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
	words, want := code.Error(), advised(code)
	if rest, ok := strings.CutPrefix(text, words); ok {
		text = want + rest
	}
	text = strings.ReplaceAll(text, ": "+words, ": "+want)
	return strings.ReplaceAll(text, "("+words, "("+want)
}
