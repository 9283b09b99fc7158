// Package user has the probes of files and processes: uprobe, uretprobe and usdt.
// It finds symbols, marks and source lines in files, and arguments by the calling
// convention of the code that a probe is on.
package user
