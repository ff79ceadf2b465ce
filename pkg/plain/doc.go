// Package plain makes external texts harmless when they leave the process: to a terminal, a log or a shell. Names,
// messages and templates come from tenants, agents and files. The rest of the code passes them on unchanged.
//
//	What is shown of a text?                   text.go
//	What may leave for a terminal?             writer.go
//	How many cells does it take?               width.go
//	How does a command look that is printed?   command.go
package plain
