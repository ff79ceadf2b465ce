package plugin

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// input reads the standard input. A read ends with the context, so that Ctrl-C ends a command that waits for an answer.
type input struct {
	ctx context.Context //nolint:containedctx // A reader has no other way to know it.
	io.Reader
}

// Read implements io.Reader.
func (i *input) Read(to []byte) (int, error) {
	type result struct {
		text []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text := make([]byte, len(to)) // The caller owns its buffer again when the context ends.
		n, err := i.Reader.Read(text)
		done <- result{text[:n], err}
	}()
	select {
	case <-i.ctx.Done():
		return 0, context.Cause(i.ctx)
	case read := <-done:
		return copy(to, read.text), read.err
	}
}

// terminal reports whether a user can answer.
func (i *input) terminal() bool {
	file, ok := i.Reader.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// ask asks a question on the terminal, and returns an error unless the answer is yes. Without a terminal, --yes is required.
func (o *options) ask(question string, yes bool) error {
	if yes {
		return nil
	}
	if in, ok := o.In.(*input); !ok || !in.terminal() {
		return errors.New("nothing was changed: there is no terminal to ask for confirmation; add --yes to confirm: " + question)
	}
	o.notef("%s [y/N] ", question)
	answer, err := bufio.NewReader(o.In).ReadString('\n')
	if err != nil { // Otherwise, the cursor would stay on the line of the question.
		o.notef("\n")
	}
	switch answer = strings.ToLower(strings.TrimSpace(answer)); {
	case err != nil && !errors.Is(err, io.EOF):
		return err
	case err != nil, answer != "y" && answer != "yes":
		return errors.New("canceled: nothing was changed")
	}
	return nil
}
