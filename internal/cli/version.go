package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// release is the version of the next release; builds between releases add the
// commit.
const release = "0.1.0"

func newVersion() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  parley version --json",
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		commit := commitOfBuild()
		if *asJSON {
			printJSON(cmd.OutOrStdout(), map[string]string{"version": release, "commit": commit, "go": runtime.Version()})
			return nil
		}
		text := "parley " + release
		if commit != "" {
			text += " (" + commit + ")"
		}
		_, err := fmt.Fprintln(cmd.OutOrStdout(), text)
		return err
	}
	return cmd
}

// commitOfBuild is the commit the binary was built from, if the build knew it.
func commitOfBuild() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return setting.Value[:min(12, len(setting.Value))]
		}
	}
	return ""
}
