// Package buildinfo reports the version of this permd, how it was built, and which libraries are in
// it: what permd version prints.
package buildinfo

import (
	"runtime"
	"runtime/debug"
)

// Info describes the build. Members that the build did not record are empty.
type Info struct {
	Version  string `json:"version"`            // the module's version, or "devel-" and the revision
	Revision string `json:"revision,omitempty"` // of the checkout it was built from
	Time     string `json:"time,omitempty"`     // of that revision, RFC 3339
	Modified bool   `json:"modified,omitempty"` // the checkout had uncommitted changes
	Go       string `json:"go"`
	Platform string `json:"platform"`
	OPA      string `json:"opa,omitempty"` // the version of the policy engine
}

// Read returns the information recorded in the running program.
func Read() Info {
	b := Info{Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
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

// Version returns the version that permd reports.
func Version() string { return Read().Version }
