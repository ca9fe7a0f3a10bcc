package cli

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
)

// completionCommand prints what a shell needs to complete commands and flags.
func completionCommand(app *cli.App) *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print the completion script of a shell",
		ArgsUsage: "bash|zsh|fish",
		Description: Examples(
			"source <("+app.Name+" completion bash)",
			app.Name+" completion zsh > \"${fpath[1]}/_"+app.Name+"\"",
			app.Name+" completion fish > ~/.config/fish/completions/"+app.Name+".fish"),
		Action: func(c *cli.Context) error {
			if err := MaxArgs(c, 1); err != nil {
				return err
			}
			script, err := completion(app, c.Args().First())
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(c.App.Writer, script)
			return err
		},
	}
}

func completion(app *cli.App, shell string) (string, error) {
	function := "_" + strings.ReplaceAll(app.Name, "-", "_")
	fill := strings.NewReplacer("TOOL", app.Name, "FUNCTION", function)
	switch shell {
	case "bash":
		return fill.Replace(bashCompletion), nil
	case "zsh":
		return fill.Replace(zshCompletion), nil
	case "fish":
		markFiles(app.Commands)
		return app.ToFishCompletion()
	}
	return "", Usagef("shell: found %q, expected bash, zsh or fish", shell)
}

// markFiles lets fish complete file names behind the flags that take one, of which
// the placeholder says so.
func markFiles(commands []*cli.Command) {
	for _, c := range commands {
		for _, f := range c.Flags {
			if f, ok := f.(*cli.StringFlag); ok {
				value, _ := placeholder(f.Usage)
				f.TakesFile = value == "FILE" || value == "FOLDER" || strings.Contains(f.Usage, "file")
			}
		}
		markFiles(c.Subcommands)
	}
}

// The tool itself says what may follow: urfave/cli answers --generate-bash-completion,
// with a description behind each word where SHELL is zsh. Where it has no answer, file
// names are completed.
const (
	bashCompletion = `FUNCTION() {
	local cur=${COMP_WORDS[COMP_CWORD]}
	local words=("${COMP_WORDS[@]:0:COMP_CWORD}")
	case $cur in -*) words+=("$cur") ;; esac
	local IFS=$'\n'
	COMPREPLY=($(compgen -W "$(SHELL=bash "${words[@]}" --generate-bash-completion 2>/dev/null)" -- "$cur"))
}
complete -o bashdefault -o default -F FUNCTION TOOL
`
	zshCompletion = `#compdef TOOL

FUNCTION() {
	local cur=${words[CURRENT]}
	local -a typed options
	typed=("${(@)words[1,CURRENT-1]}")
	case $cur in -*) typed+=("$cur") ;; esac
	options=("${(@f)$(SHELL=zsh "${typed[@]}" --generate-bash-completion 2>/dev/null)}")
	if [[ -n $options[1] ]]; then
		_describe TOOL options
	else
		_files
	fi
}

if [[ $funcstack[1] == FUNCTION ]]; then
	FUNCTION "$@"
else
	compdef FUNCTION TOOL
fi
`
)
