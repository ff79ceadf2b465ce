// Package tools builds the binaries that a sandbox and the integration tests run, from their Go modules under
// hack/tools, and caches them in _output/tools by name, version and platform.
package tools
