package plugin

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
)

// printer writes until the first error, and keeps that error. Each text that it puts into a line stays on that line.
type printer struct {
	to     *plain.Writer
	screen screen
	err    error
}

func newPrinter(to io.Writer, s screen) *printer { return &printer{to: plain.For(to), screen: s} }

// text writes a text that may have several lines.
func (p *printer) text(text string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.to, text)
	}
}

// control writes one of the program's own control sequences. Nothing else bypasses the filter of the output.
func (p *printer) control(sequence string) {
	if p.err == nil {
		_, p.err = io.WriteString(plain.Raw(p.to), sequence)
	}
}

// printf writes a format, each text of which stays on one line.
func (p *printer) printf(format string, args ...any) {
	for i := range args {
		if err, isError := args[i].(error); isError {
			args[i] = plain.Line(err.Error())
		} else if value := reflect.ValueOf(args[i]); value.Kind() == reflect.String {
			args[i] = plain.Line(value.String())
		}
	}
	p.text(fmt.Sprintf(format, args...))
}

// colored writes in a color, if the screen has colors.
func (p *printer) colored(code string, write func()) {
	if p.screen.color && code != "" {
		p.control("\x1b[" + code + "m")
		defer p.control("\x1b[0m")
	}
	write()
}

// state writes a state in its color.
func (p *printer) state(state string) {
	p.colored(colors[view.LevelOf(state)], func() { p.text(plain.Line(state)) })
}

// alarms writes the reasons why the hub does not act, and the remedies.
func (p *printer) alarms(alarms []view.Alarm) {
	if len(alarms) == 0 {
		return
	}
	p.colored(red, func() {
		for i := range alarms {
			p.prose("HUB      ", alarms[i].Text)
			p.prose("         ", "remedy: "+alarms[i].Remedy)
		}
	})
}

// runbook writes the address of the runbook, or its path in the repository if the address is longer than a line of the screen.
func (p *printer) runbook(section view.Runbook) {
	const label = "Runbook  "
	where := section.Address()
	if p.screen.width > 0 && plain.Width(label+where) > p.screen.width {
		where = section.Path()
	}
	if section != "" {
		p.text(label + where + "\n")
	}
}

// prose writes a text after a label, on as many lines as the screen requires.
func (p *printer) prose(label, text string) { p.text(p.screen.prose(label, plain.Line(text))) }

// command writes a command line that can be copied.
func (p *printer) command(indent int, arguments []string) {
	words := make([]string, len(arguments))
	for i := range arguments {
		words[i] = strings.ReplaceAll(plain.Text(plain.Command(arguments[i])), "\n", `\n`)
	}
	p.text(p.screen.command(indent, words))
}

func (p *printer) table(t *table) {
	if len(t.rows) > 0 {
		t.write(p)
	}
}

// notef writes a format to the error output.
func (o *options) notef(format string, args ...any) {
	newPrinter(o.ErrOut, screen{}).printf(format, args...)
}

// sayf writes a format to the output.
func (o *options) sayf(format string, args ...any) error {
	out := newPrinter(o.Out, screen{})
	out.printf(format, args...)
	return out.err
}

// tell writes a text to the output, on as many lines as the screen requires.
func (o *options) tell(text string) error {
	out := newPrinter(o.Out, screenOf(o.Out))
	out.prose("", text)
	return out.err
}

// printYAML writes a value unchanged: its reader needs the original texts, and YAML escapes control characters.
func (o *options) printYAML(value any) error {
	text, err := yamlOf(value)
	if err != nil {
		return err
	}
	_, err = plain.Raw(o.Out).Write(text)
	return err
}

// yamlOf returns a value as YAML. The library reads JSON as YAML, but YAML forbids some control characters that JSON allows. They are
// replaced by escapes.
func yamlOf(value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return yaml.JSONToYAML([]byte(plain.Text(string(text))))
}
