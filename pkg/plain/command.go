package plain

import "al.essio.dev/pkg/shellescape"

// Command returns a command line for a POSIX shell. A shell passes each argument to the command as it is.
func Command(arguments ...string) string { return shellescape.QuoteCommand(arguments) }
