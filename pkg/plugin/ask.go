package plugin

import (
	"bufio"
	"errors"
	"os"
	"strings"

	"golang.org/x/term"
)

// ask asks a question on the terminal, and returns an error unless the answer is yes. Without a terminal, --yes is required.
func (o *options) ask(question string, yes bool) error {
	if yes {
		return nil
	}
	file, ok := o.In.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return errors.New(question + " No terminal is available to ask for confirmation: add --yes")
	}
	o.notef("%s [y/N] ", question)
	answer, err := bufio.NewReader(file).ReadString('\n')
	if err != nil {
		return err
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return errors.New("canceled: nothing was changed")
	}
	return nil
}
