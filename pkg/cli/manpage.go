package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"
)

// manCommand prints the manual page in the format of man(7).
func manCommand(app *cli.App) *cli.Command {
	return &cli.Command{
		Name:        "man",
		Usage:       "print the manual page",
		Hidden:      true,
		Description: Examples(app.Name + " man > /usr/local/share/man/man1/" + app.Name + ".1"),
		Action: func(c *cli.Context) error {
			if err := NoArgs(c); err != nil {
				return err
			}
			return writeManual(c.App.Writer, describe(app))
		},
	}
}

// writeManual is urfave/cli's ToMan with descriptions, examples and environment
// variables, which that one leaves out.
func writeManual(w io.Writer, t Tool) error {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" bgbench \"bgbench manual\"\n", roff(strings.ToUpper(t.Name)))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(t.Name), roff(t.Usage))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n.I COMMAND\n[flags] [arguments]\n", roff(t.Name))
	if t.Description != "" {
		b.WriteString(".SH DESCRIPTION\n")
		roffText(&b, t.Description)
	}
	b.WriteString(".SH COMMANDS\n")
	for _, c := range t.Commands {
		fmt.Fprintf(&b, ".SS %s\n", roff(strings.TrimSpace(t.Name+" "+c.Name+" "+c.Arguments)))
		fmt.Fprintf(&b, "%s.\n", roffLine(upperFirst(c.Usage)))
		if c.Description != "" {
			b.WriteString(".PP\n")
			roffText(&b, c.Description)
		}
		roffFlags(&b, c.Flags)
	}
	b.WriteString(".SH FLAGS OF EVERY COMMAND\n")
	roffFlags(&b, t.Flags)
	b.WriteString(".SH EXIT STATUS\n")
	for _, s := range []struct {
		code    int
		meaning string
	}{
		{ExitOK, "done"},
		{ExitFailed, "failed"},
		{ExitUsage, "wrong usage or input"},
		{ExitInvalid, "done, but a check did not hold or a cell is INVALID"},
		{ExitInterrupted, "interrupted; what was measured is kept"},
	} {
		fmt.Fprintf(&b, ".TP\n.B %d\n%s\n", s.code, s.meaning)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func roffFlags(b *strings.Builder, flags []Flag) {
	for _, f := range flags {
		var names []string
		for _, n := range f.Names {
			names = append(names, roff(dashed(n)))
		}
		fmt.Fprintf(b, ".TP\n\\fB%s\\fR", strings.Join(names, "\\fR, \\fB"))
		if f.Value != "" {
			fmt.Fprintf(b, " \\fI%s\\fR", roff(f.Value))
		}
		b.WriteString("\n")
		about := f.Usage
		if f.Default != "" {
			about += " (default: " + f.Default + ")"
		}
		if f.Repeatable {
			about += "; may be given several times"
		}
		fmt.Fprintf(b, "%s [%s]\n", roffLine(about), roff(strings.Join(f.Environment, ", ")))
	}
}

// roffText sets a description; its last paragraph may be examples, which keep their lines.
func roffText(b *strings.Builder, text string) {
	prose, examples, ok := strings.Cut(text, "Example:\n")
	for line := range strings.Lines(strings.TrimSpace(prose)) {
		if line = strings.TrimSpace(line); line == "" {
			b.WriteString(".PP\n")
			continue
		}
		fmt.Fprintln(b, roffLine(line))
	}
	if !ok {
		return
	}
	b.WriteString(".PP\n.RS 4\n.nf\n")
	for line := range strings.Lines(examples) {
		fmt.Fprintln(b, roffLine(strings.TrimSpace(line)))
	}
	b.WriteString(".fi\n.RE\n")
}

// roff escapes what man(7) reads as more than text.
func roff(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
}

// roffLine is roff for a whole line, which a dot or an apostrophe would make a request.
func roffLine(s string) string {
	s = roff(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		return `\&` + s
	}
	return s
}

func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
