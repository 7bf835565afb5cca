package cli

import "github.com/spf13/cobra"

// Exclusive makes more than one of some flags of a command a wrong usage. It must be called after
// cmd.Args is set.
func Exclusive(cmd *cobra.Command, names ...string) {
	cmd.MarkFlagsMutuallyExclusive(names...) // for completions
	before := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		given := ""
		for _, name := range names {
			switch {
			case !cmd.Flags().Changed(name):
			case given != "":
				return Failf(ExitUsage, "leave out one", "--%s and --%s cannot be used together", given, name)
			default:
				given = name
			}
		}
		if before == nil {
			return nil
		}
		return before(cmd, args)
	}
}
