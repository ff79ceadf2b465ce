// Package process runs child processes that never outlive this one, and keeps their files in
// one directory that goes away with them, whatever ends this process: a return, Ctrl-C, a
// panic or kill -9.
//
// Two means work together. The kernel kills the children when this process dies, where it can
// (Linux). A watchdog, a small shell process that holds the other end of a pipe, notices
// that this process is gone, kills what is left and removes the directory.
package process
