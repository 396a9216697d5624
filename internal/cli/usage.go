package cli

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// A usageError says that a command was not written as it is to be.
type usageError struct {
	cmd *cobra.Command
	err error
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// misused is the error of an argument or a flag that a command cannot take.
func misused(cmd *cobra.Command, err error) error {
	if err == nil {
		return nil
	}
	return &usageError{cmd, err}
}

func (e *usageError) line() string {
	if e.cmd.HasSubCommands() {
		return e.cmd.CommandPath() + " COMMAND"
	}
	return e.cmd.UseLine()
}

// how tells how the command is written, and where more is to be read.
func (e *usageError) how() string {
	return fmt.Sprintf("usage: %s\n%s --help tells more", e.line(), e.cmd.CommandPath())
}

// arrange lets all commands take the arguments that their usage lines name, and
// turns what fails before a command begins into a usageError.
func arrange(cmd *cobra.Command) {
	cmd.Args = takes
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return misused(cmd, flagError(cmd, err)) })
	if begin := cmd.RunE; begin != nil {
		required := cmd.PreRunE
		cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
			err := cmd.ValidateRequiredFlags()
			if err == nil {
				err = cmd.ValidateFlagGroups()
			}
			if err != nil {
				return misused(cmd, flagError(cmd, err))
			}
			if required != nil {
				return required(cmd, args)
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		arrange(sub)
	}
}

// takes compares arguments with the usage line of the command: WORD is needed,
// [WORD] may be left out, and after the last one with ... any number may follow.
func takes(cmd *cobra.Command, args []string) error {
	words := strings.Fields(cmd.Use)[1:]
	for i, word := range words {
		if !strings.HasPrefix(word, "[") && i >= len(args) {
			return misused(cmd, fmt.Errorf("%s is missing", strings.TrimSuffix(word, "...")))
		}
		if strings.HasSuffix(word, "...") {
			return nil
		}
	}
	if len(args) <= len(words) {
		return nil
	}
	surplus := args[len(words)]
	switch {
	case cmd.HasSubCommands():
		text := fmt.Sprintf("unknown command %q for %q", surplus, cmd.CommandPath())
		cmd.SuggestionsMinimumDistance = 2
		if near := cmd.SuggestionsFor(surplus); len(near) > 0 {
			text += ": did you mean " + strings.Join(near, " or ") + "?"
		}
		return misused(cmd, errors.New(text))
	case len(words) == 0:
		return misused(cmd, fmt.Errorf("%q is too much: %s takes no arguments", surplus, cmd.CommandPath()))
	}
	return misused(cmd, fmt.Errorf("%q is too much", surplus))
}

var (
	oneNeeded = regexp.MustCompile(`^at least one of the flags in the group \[(.*)\] is required$`)
	onlyOne   = regexp.MustCompile(`^if any flags in the group \[(.*)\] are set none of the others can be;`)
	together  = regexp.MustCompile(`^if any flags in the group \[(.*)\] are set they must all be set; missing \[(.*)\]$`)
	allNeeded = regexp.MustCompile(`^required flag\(s\) (.*) not set$`)
	badValue  = regexp.MustCompile(`^invalid argument (".*") for "(?:-\w, )?--([\w-]+)" flag:`)
	kinds     = map[string]string{"int": "a whole number", "duration": "a time such as 500ms, 30s or 2m", "bool": "true or false"}
)

// flagError says in the words of the manual what the flag library says in its own.
func flagError(cmd *cobra.Command, err error) error {
	text := err.Error()
	if found := badValue.FindStringSubmatch(text); found != nil {
		if flag := cmd.Flags().Lookup(found[2]); flag != nil && kinds[flag.Value.Type()] != "" {
			return fmt.Errorf("--%s: expected %s, not %s", flag.Name, kinds[flag.Value.Type()], found[1])
		}
	}
	if found := oneNeeded.FindStringSubmatch(text); found != nil {
		return fmt.Errorf("one of %s is needed", flagList(found[1], " and "))
	}
	if found := onlyOne.FindStringSubmatch(text); found != nil {
		return fmt.Errorf("only one of %s can be given", flagList(found[1], " and "))
	}
	if found := together.FindStringSubmatch(text); found != nil {
		return fmt.Errorf("%s is missing: %s belong together", flagList(found[2], " and "), flagList(found[1], " and "))
	}
	if found := allNeeded.FindStringSubmatch(text); found != nil {
		return fmt.Errorf("missing: %s", flagList(strings.NewReplacer(`"`, "", ",", "").Replace(found[1]), ", "))
	}
	return err
}

func flagList(names, last string) string {
	flags := strings.Fields(names)
	for i := range flags {
		flags[i] = "--" + flags[i]
	}
	if len(flags) < 2 {
		return strings.Join(flags, "")
	}
	return strings.Join(flags[:len(flags)-1], ", ") + last + flags[len(flags)-1]
}
