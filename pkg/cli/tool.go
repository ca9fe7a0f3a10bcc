package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// Tool is the command line of a tool, as its manual and the reference pages tell it.
type Tool struct {
	Name        string    `json:"name"`
	Usage       string    `json:"usage"`
	Description string    `json:"description,omitempty"`
	Flags       []Flag    `json:"flags"`    // of every command
	Commands    []Command `json:"commands"` // those that do something, by their whole name
}

// Command is one command of a tool.
type Command struct {
	Name        string `json:"name"`                // as in "conform router"
	Arguments   string `json:"arguments,omitempty"` // that stand behind the flags
	Usage       string `json:"usage"`
	Description string `json:"description,omitempty"`
	Flags       []Flag `json:"flags"`
}

// Flag is a flag of a command.
type Flag struct {
	Names       []string `json:"names"`           // without dashes, the long one first
	Value       string   `json:"value,omitempty"` // what stands behind it; a switch has none
	Repeatable  bool     `json:"repeatable,omitempty"`
	Default     string   `json:"default,omitempty"`
	Environment []string `json:"environment"`
	Usage       string   `json:"usage"`
}

// describe returns the command line of app, whose commands have been prepared.
func describe(app *cli.App) Tool {
	common := commonFlags()
	addEnvTwins(common)
	return Tool{
		Name:        app.Name,
		Usage:       app.Usage,
		Description: app.Description,
		Flags:       describeFlags(common, nil),
		Commands:    describeCommands(nil, "", app.Commands),
	}
}

func describeCommands(to []Command, path string, commands []*cli.Command) []Command {
	for _, c := range commands {
		if c.Hidden {
			continue
		}
		name := strings.TrimSpace(path + " " + c.Name)
		if c.Action != nil { // else it only holds others
			to = append(to, Command{
				Name:        name,
				Arguments:   c.ArgsUsage,
				Usage:       c.Usage,
				Description: c.Description,
				Flags:       describeFlags(c.Flags, commonFlags()),
			})
		}
		to = describeCommands(to, name, c.Subcommands)
	}
	return to
}

// describeFlags leaves out what is hidden and what every command has.
func describeFlags(flags, common []cli.Flag) []Flag {
	out := []Flag{}
	for _, f := range flags {
		about, ok := f.(cli.DocGenerationFlag)
		if !ok || !visible(f) || slices.ContainsFunc(common, func(c cli.Flag) bool { return c.Names()[0] == f.Names()[0] }) {
			continue
		}
		d := Flag{Names: f.Names(), Environment: about.GetEnvVars()}
		d.Value, d.Usage = placeholder(about.GetUsage())
		if !about.TakesValue() {
			d.Value = ""
		} else if d.Value == "" {
			d.Value = "VALUE"
		}
		d.Default = strings.ReplaceAll(about.GetValue(), `"`, "") // those of a list are quoted
		_, d.Repeatable = f.(*cli.StringSliceFlag)
		if d.Default == "0" || d.Default == "0s" || d.Default == "false" {
			d.Default = "" // nothing was asked for
		}
		out = append(out, d)
	}
	return out
}

func visible(f cli.Flag) bool {
	v, ok := f.(cli.VisibleFlag)
	return ok && v.IsVisible()
}

// placeholder takes the word in backquotes out of a usage, as the help does.
func placeholder(usage string) (value, rest string) {
	before, after, ok := strings.Cut(usage, "`")
	if !ok {
		return "", usage
	}
	value, after, ok = strings.Cut(after, "`")
	if !ok {
		return "", usage
	}
	return value, before + value + after
}

// flagsCommand prints the command line as data; the reference pages are made of it.
func flagsCommand(app *cli.App) *cli.Command {
	return &cli.Command{
		Name:   "flags",
		Usage:  "print commands and flags as JSON",
		Hidden: true,
		Action: func(c *cli.Context) error {
			if err := NoArgs(c); err != nil {
				return err
			}
			out := json.NewEncoder(c.App.Writer)
			out.SetEscapeHTML(false)
			if err := out.Encode(describe(app)); err != nil {
				return fmt.Errorf("printing flags: %w", err)
			}
			return nil
		},
	}
}
