package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"
)

// toyApp has what a reference page must tell of, and what it must not.
func toyApp() *cli.App {
	act := func(*cli.Context) error { return nil }
	return &cli.App{Name: "bg-toy", Usage: "play", Commands: []*cli.Command{
		{
			Name: "run", Usage: "go", ArgsUsage: "FILE", Action: act,
			Description: "Runs.\n.dots are no requests.\n\n" + Examples("bg-toy run -o - x"),
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: "-", Required: true, Usage: "`FILE` to write"},
				&cli.StringSliceFlag{Name: "set", Value: cli.NewStringSlice("a=1", "b=2"), Usage: "`KEY=VALUE`"},
				&cli.IntFlag{Name: "some-number", Usage: "how many"},
				&cli.BoolFlag{Name: "secret", Hidden: true},
			},
		},
		{Name: "within", Usage: "hold others", Subcommands: []*cli.Command{{Name: "one", Usage: "be inside", Action: act}}},
	}}
}

func runToy(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, talk bytes.Buffer
	env := Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &talk}
	code = Run(t.Context(), env, toyApp(), append([]string{"bg-toy"}, args...))
	return code, out.String(), talk.String()
}

func TestFlagsAreDescribedAsTheHelpShowsThem(t *testing.T) {
	code, stdout, stderr := runToy(t, "flags")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	var got Tool
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	want := []Command{
		{Name: "run", Arguments: "FILE", Usage: "go", Description: got.Commands[0].Description, Flags: []Flag{
			{Names: []string{"output", "o"}, Value: "FILE", Default: "-", Environment: []string{"BG_OUTPUT"}, Usage: "FILE to write (required)"},
			{Names: []string{"set"}, Value: "KEY=VALUE", Repeatable: true, Default: "a=1, b=2", Environment: []string{"BG_SET"}, Usage: "KEY=VALUE"},
			{Names: []string{"some-number"}, Value: "VALUE", Environment: []string{"BG_SOME_NUMBER"}, Usage: "how many"},
		}},
		{Name: "within one", Usage: "be inside", Flags: []Flag{}},
		{Name: "completion", Arguments: "bash|zsh|fish", Usage: "print the completion script of a shell", Description: got.Commands[2].Description, Flags: []Flag{}},
	}
	if diff := cmp.Diff(want, got.Commands); diff != "" {
		t.Error(diff)
	}
	if len(got.Flags) != 2 || got.Flags[1].Environment[0] != "BG_LOG_FORMAT" {
		t.Errorf("flags of every command: %+v", got.Flags)
	}
}

func TestTheManualEscapesWhatRoffWouldRead(t *testing.T) {
	code, stdout, stderr := runToy(t, "man")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for _, want := range []string{
		".TH BG\\-TOY 1", ".SS bg\\-toy within one\n", "\\&.dots are no requests.\n",
		"\\fB\\-\\-output\\fR, \\fB\\-o\\fR \\fIFILE\\fR\n", "(default: \\-)", "[BG_SET]",
		".nf\nbg\\-toy run \\-o \\- x\n.fi\n", ".B 130\n",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the manual lacks %q", want)
		}
	}
	if strings.Contains(stdout, "secret") {
		t.Error("the manual tells of a hidden flag")
	}
}

func TestCompletionIsForOneOfThreeShells(t *testing.T) {
	for shell, want := range map[string]string{
		"bash": "complete -o bashdefault -o default -F _bg_toy bg-toy",
		"zsh":  "#compdef bg-toy",
		"fish": "complete -c bg-toy -n '__fish_seen_subcommand_from run' -l output -s o -r",
	} {
		code, stdout, stderr := runToy(t, "completion", shell)
		if code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("%s: exit code %d, %s%s", shell, code, stderr, stdout)
		}
	}
	code, stdout, stderr := runToy(t, "completion", "tcsh")
	if want := "bg-toy: shell: found \"tcsh\", expected bash, zsh or fish\n"; code != ExitUsage || stderr != want || stdout != "" {
		t.Errorf("got %d %q %q", code, stderr, stdout)
	}
}
