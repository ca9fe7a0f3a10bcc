package cli

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// Run runs app as the tool called app.Name and returns its exit code. Errors are
// printed once, here.
func Run(ctx context.Context, env Env, app *cli.App, args []string) int {
	app.Reader, app.Writer, app.ErrWriter = env.Stdin, env.Stdout, env.Stderr
	app.DisableSliceFlagSeparator = true // --set values may hold commas
	app.Version = Version()
	app.EnableBashCompletion = true
	app.HideHelpCommand = true
	app.ExitErrHandler = func(*cli.Context, error) {} // never os.Exit from inside
	app.Flags = append(app.Flags, commonFlags()...)
	app.CommandNotFound = nil
	app.Action = func(c *cli.Context) error {
		if c.Args().Present() {
			return unknownCommand(app.VisibleCommands(), c.Args().First())
		}
		return cli.ShowAppHelp(c)
	}
	app.OnUsageError = usageError
	app.Commands = append(app.Commands, completionCommand(app), manCommand(app), flagsCommand(app))
	prepare(app.Commands)
	addEnvTwins(app.Flags)
	surviveClosedPipe()
	return Report(env.Stderr, app.Name, app.RunContext(ctx, flagsFirst(app, args)))
}

func usageError(_ *cli.Context, err error, _ bool) error {
	return WithHint(Usage(err), "--help lists the flags")
}

func unknownCommand(commands []*cli.Command, name string) error {
	var names []string
	for _, c := range commands {
		names = append(names, c.Name)
	}
	return WithHint(Usagef("unknown command %q", name), "one of %s", strings.Join(names, ", "))
}

func prepare(commands []*cli.Command) {
	for _, c := range commands {
		c.OnUsageError = usageError
		requireFlags(c)
		chooseLogger(c)
		c.HideHelpCommand = true
		if len(c.Subcommands) == 0 {
			c.Flags = append(c.Flags, commonFlags()...)
		} else if c.Action == nil {
			c.Before = oneOf(c.Subcommands)
		}
		addEnvTwins(c.Flags)
		prepare(c.Subcommands)
	}
}

// oneOf is the check of a command that only holds others: urfave/cli itself would call an
// unknown one a failure of its help.
func oneOf(commands []*cli.Command) cli.BeforeFunc {
	return func(c *cli.Context) error {
		name := c.Args().First()
		if name == "" || slices.ContainsFunc(commands, func(c *cli.Command) bool { return c.HasName(name) }) {
			return nil
		}
		return unknownCommand(commands, name)
	}
}

// chooseLogger has a command refuse an unknown --log-format, whether it logs or not. Its
// logger becomes that of the process, for what libraries log: net/http's clients have none of
// their own, and print remarks about a server with package log, which --quiet does not know.
// They are not told to the user, whom the error of a request tells what matters.
func chooseLogger(c *cli.Command) {
	action := c.Action
	if action == nil {
		return
	}
	c.Action = func(c *cli.Context) error {
		logger, err := Logger(c)
		if err != nil {
			return err
		}
		slog.SetDefault(logger)
		slog.SetLogLoggerLevel(slog.LevelDebug)
		return action(c)
	}
}

// requireFlags takes the check of required flags over from urfave/cli, which prints
// the whole help on standard output when one is missing.
func requireFlags(c *cli.Command) {
	var required []string
	for _, f := range c.Flags {
		if f, ok := f.(*cli.StringFlag); ok && f.Required {
			f.Required = false
			f.Usage += " (required)"
			required = append(required, f.Name)
		}
	}
	action := c.Action
	if len(required) == 0 || action == nil {
		return
	}
	c.Action = func(c *cli.Context) error {
		for _, name := range required {
			if c.String(name) == "" {
				return WithHint(Usagef("--%s: found none, expected a value", name), "--help shows an example")
			}
		}
		return action(c)
	}
}

// envTwin is the environment variable of the flag called name.
func envTwin(name string) string {
	return "BG_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// Typed reports whether a flag stands on the command line, its variable being unset. What the
// environment has, for other tools or from bg-deploy exec, contradicts nothing.
func Typed(c *cli.Context, env Env, name string) bool {
	_, inherited := env.LookupEnv(envTwin(name))
	return c.IsSet(name) && !inherited
}

// addEnvTwins gives each flag its environment variable.
func addEnvTwins(flags []cli.Flag) {
	for _, f := range flags {
		twin := envTwin(f.Names()[0])
		switch f := f.(type) {
		case *cli.StringFlag:
			f.EnvVars = append(f.EnvVars, twin)
		case *cli.StringSliceFlag:
			f.EnvVars = append(f.EnvVars, twin)
		case *cli.BoolFlag:
			f.EnvVars = append(f.EnvVars, twin)
		case *cli.IntFlag:
			f.EnvVars = append(f.EnvVars, twin)
		case *cli.Int64Flag:
			f.EnvVars = append(f.EnvVars, twin)
		case *cli.Float64Flag:
			f.EnvVars = append(f.EnvVars, twin)
		case *cli.DurationFlag:
			f.EnvVars = append(f.EnvVars, twin)
		}
	}
}

// commonFlags may stand before the command or among its own flags.
func commonFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "quiet", Usage: "no progress on standard error"},
		&cli.StringFlag{Name: "log-format", Value: "text", Usage: "`FORMAT` of log lines: text or json"},
	}
}

// Quiet reports whether --quiet was given.
func Quiet(c *cli.Context) bool {
	return slices.ContainsFunc(c.Lineage(), func(c *cli.Context) bool { return c.Bool("quiet") })
}

// Logger returns the logger that --log-format asks for.
func Logger(c *cli.Context) (*slog.Logger, error) {
	format := c.String("log-format")
	for _, outer := range c.Lineage() {
		if outer.IsSet("log-format") {
			format = outer.String("log-format")
			break
		}
	}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(c.App.ErrWriter, nil)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(c.App.ErrWriter, nil)), nil
	default:
		return nil, Usagef("--log-format: found %q, expected text or json", format)
	}
}

// Version is the module version of the build, with the revision where the build
// knows it.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	version := info.Main.Version
	if version == "" {
		version = "(devel)"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			version += " " + s.Value[:12]
		}
	}
	return version
}

// NoArgs returns a usage error when a command got positional arguments that it
// does not take.
func NoArgs(c *cli.Context) error { return MaxArgs(c, 0) }

// MaxArgs is NoArgs for a command that takes up to n arguments.
func MaxArgs(c *cli.Context, n int) error {
	if c.NArg() <= n {
		return nil
	}
	return Usagef("unexpected argument %q", c.Args().Get(n))
}

// Examples formats the example block of a command's help.
func Examples(lines ...string) string {
	return fmt.Sprintf("Example:\n   %s", strings.Join(lines, "\n   "))
}
