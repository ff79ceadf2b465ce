package manager

import "os"

// Binary is the `work` that the environment variable WORK_BINARY names, empty for none: a build of OCM's own tree with this project's
// controller in it (`make patch-ocm`). The tests run its `manager` in place of one in their own process. It has OCM's flags.
func Binary() string { return os.Getenv("WORK_BINARY") }

// NotWithABinary is what a test says that needs a manager in its own process, or flags that OCM's does not have.
const NotWithABinary = "WORK_BINARY is set, and this test needs this project's hub: name it in -skip"
