package main

import (
	"bytes"
	"crypto/sha256"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdxlib"
)

// TestDocument reads an SBOM back: it is valid, and has the program, Go's own library and
// each module with its version.
func TestDocument(t *testing.T) {
	info := &debug.BuildInfo{
		GoVersion: "go1.26.8", Main: debug.Module{Path: "github.com/permd/permd", Version: "v1.2.3"},
		Deps: []*debug.Module{
			{Path: "example.com/a_b/v2", Version: "v2.0.1", Sum: "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="},
			{Path: "example.com/old", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/new", Version: "v1.1.0"}},
		},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0123abc"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "GOARCH", Value: "arm64"}},
	}
	doc, err := document("permd-linux-arm64", info, sha256.Sum256([]byte("program")))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := spdxjson.Write(doc, &out); err != nil {
		t.Fatal(err)
	}
	read, err := spdxjson.Read(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if err := spdxlib.ValidateDocument(read); err != nil {
		t.Error(err)
	}
	var got []string
	for _, p := range read.Packages {
		got = append(got, p.PackageName+" "+p.PackageVersion)
	}
	want := []string{"permd-linux-arm64 v1.2.3", "std 1.26.8", "example.com/a_b/v2 v2.0.1", "example.com/new v1.1.0"}
	if !slices.Equal(got, want) {
		t.Errorf("packages %q, want %q", got, want)
	}
	if n := len(read.Relationships); n != len(want) {
		t.Errorf("%d relationships, want one to the program and one to each of the others", n)
	}
	if read.CreationInfo.Created != "2026-01-02T03:04:05Z" {
		t.Errorf("created %s: not the time of the commit", read.CreationInfo.Created)
	}
	if !slices.ContainsFunc(read.Packages, func(p *spdx.Package) bool {
		return strings.Contains(p.PackageComment, "e3b0c44298fc1c149afbf4c8996fb924")
	}) {
		t.Error("the checksum of a module is not in it")
	}
}

// TestNoCommit refuses a program of which nobody can say what it was built from.
func TestNoCommit(t *testing.T) {
	if _, err := document("permd", &debug.BuildInfo{GoVersion: "go1.26.8"}, sha256.Sum256(nil)); err == nil {
		t.Error("there is an SBOM of a program without a commit")
	}
	if err := run(filepath.Join(t.TempDir(), "none"), &bytes.Buffer{}); err == nil {
		t.Error("there is an SBOM of a program that does not exist")
	}
}
