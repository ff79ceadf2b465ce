package plugin

import (
	"bufio"
	"errors"
	"fmt"
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
	if _, err := fmt.Fprint(o.ErrOut, question+" [y/N] "); err != nil {
		return err
	}
	answer, err := bufio.NewReader(file).ReadString('\n')
	if err != nil {
		return err
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return errors.New("canceled: nothing was changed")
	}
	return nil
}
