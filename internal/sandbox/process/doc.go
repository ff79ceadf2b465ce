// Package process runs child processes that never outlive this one, and keeps their files in one directory. The directory is removed when
// this process ends for any reason: a return, Ctrl-C, a panic or kill -9.
//
// Two mechanisms work together. If the kernel supports it (Linux), it kills the children when this process dies. A watchdog, a small shell
// process that holds the other end of a pipe, notices that this process is gone, kills the remaining children and removes the directory.
package process
