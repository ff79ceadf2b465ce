package process

import (
	"os/exec"
	"runtime"
	"sync"
)

var (
	launchOnce sync.Once
	launches   chan func()
)

// start starts cmd from a thread that lives as long as this process. The kernel's parent-death signal is bound to the thread that started
// the child, and Go may end other threads at any time.
func start(cmd *exec.Cmd) error {
	launchOnce.Do(func() {
		launches = make(chan func())
		go func() {
			runtime.LockOSThread()
			for launch := range launches {
				launch()
			}
		}()
	})
	result := make(chan error)
	launches <- func() { result <- cmd.Start() }
	return <-result
}
