// Package plain makes texts of others harmless where they leave the process: on a terminal, in a log, in a shell. Names, messages and
// templates come from tenants, agents and files. The rest of the code passes them on as they are.
//
//	What is shown of a text?                   text.go
//	What may leave for a terminal?             writer.go
//	How many cells does it take?               width.go
//	How does a command look that is printed?   command.go
package plain
