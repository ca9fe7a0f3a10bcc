package cli

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// flagsFirst moves the flags of a command before its arguments, because the flag
// package stops looking at the first argument, and `bg-report html results.json -o
// report.html` must mean what it says. What follows "--" stays where it is.
func flagsFirst(app *cli.App, args []string) []string {
	if len(args) == 0 || args[len(args)-1] == "--generate-bash-completion" {
		return args
	}
	out, rest := slices.Clone(args[:1]), args[1:]
	flags, commands := app.Flags, app.Commands
	var arguments []string
	for len(rest) > 0 && rest[0] != "--" {
		word := rest[0]
		rest = rest[1:]
		if strings.HasPrefix(word, "-") && word != "-" {
			out = append(out, word)
			if takesValue(flags, word) && len(rest) > 0 {
				out, rest = append(out, rest[0]), rest[1:]
			}
			continue
		}
		i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(word) })
		if i < 0 || len(arguments) > 0 {
			arguments = append(arguments, word)
			continue
		}
		out = append(out, word)
		flags, commands = commands[i].Flags, commands[i].Subcommands
	}
	return slices.Concat(out, arguments, rest)
}

// takesValue reports whether the flag in word takes the next word as its value.
func takesValue(flags []cli.Flag, word string) bool {
	name := strings.TrimLeft(word, "-")
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			_, isBool := f.(*cli.BoolFlag)
			return !isBool
		}
	}
	return false // unknown, help, version, or the value stands behind "="
}
