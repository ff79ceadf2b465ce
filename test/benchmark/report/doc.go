// Package report renders the measurements as a Markdown table. It is pure: figures in, text out.
package report
