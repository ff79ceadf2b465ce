// Package report makes a Markdown table of what was measured. It is pure: figures in, text out.
package report
