package manager

import "os"

// Binary returns the path of `work` from the environment variable WORK_BINARY; empty for none. It is a build of OCM's own tree with this
// project's controller (`make patch-ocm`). The tests run its `manager` instead of a manager in their own process. It has OCM's flags.
func Binary() string { return os.Getenv("WORK_BINARY") }

// NotWithABinary is the message of a test that requires a manager in its own process, or flags that OCM's manager does not have.
const NotWithABinary = "WORK_BINARY is set, and this test needs this project's hub: add the test to -skip"
