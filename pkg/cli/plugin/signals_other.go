//go:build !unix

package plugin

import (
	"context"
	"os"
)

// terminalSignals returns no signals: the size of the terminal is read at the next refresh, and nothing stops the program.
func terminalSignals() (signals <-chan os.Signal, end func()) { return nil, func() {} }

func (c *canvas) heed(context.Context, os.Signal, <-chan os.Signal) error { return nil }
