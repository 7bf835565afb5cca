package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// build is what the program knows of how it was built. Members that the build
// did not record are empty.
type build struct {
	Version  string `json:"version"`            // the module's version, or "devel-" and the revision
	Revision string `json:"revision,omitempty"` // of the checkout it was built from
	Time     string `json:"time,omitempty"`     // of that revision, RFC 3339
	Modified bool   `json:"modified,omitempty"` // the checkout had uncommitted changes
	Go       string `json:"go"`
	Platform string `json:"platform"`
	OPA      string `json:"opa,omitempty"` // the version of the policy engine
}

func readBuild() build {
	b := build{Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	for _, m := range info.Deps {
		if m.Path == "github.com/open-policy-agent/opa" {
			b.OPA = m.Version
		}
	}
	b.Version = "devel"
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	} else if len(b.Revision) >= 12 {
		b.Version = "devel-" + b.Revision[:12]
	}
	return b
}

// version is the one word that permd calls itself by.
func version() string { return readBuild().Version }

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "version",
		Annotations: onlyReads,
		Short:       "Print the version and how it was built",
		Long: `Print the version, the revision it was built from, and the versions of Go and
of Open Policy Agent. Include it in a bug report.

` + exitCodes,
		Example: `  permd version
  permd version --json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := readBuild()
			if a.json {
				return printIndented(a.out, b)
			}
			fmt.Fprintf(a.out, "permd %s\n", b.Version)
			if b.Revision != "" {
				modified := ""
				if b.Modified {
					modified = ", with uncommitted changes"
				}
				fmt.Fprintf(a.out, "  revision  %s%s\n  from      %s\n", b.Revision, modified, b.Time)
			}
			fmt.Fprintf(a.out, "  go        %s %s\n", b.Go, b.Platform)
			if b.OPA != "" {
				fmt.Fprintf(a.out, "  opa       %s\n", b.OPA)
			}
			return nil
		},
	}
}
