// Package report makes a table and a plot of what was measured. It is pure: figures in, text out.
package report
