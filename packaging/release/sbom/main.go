// Command sbom prints an SBOM, in SPDX's JSON, of a program that Go built: the modules that are
// linked into it, with their versions and checksums, as the program itself records them.
// The time of creation is that of the commit, so that the same program has the same SBOM.
//
//	go run ./packaging/release/sbom PROGRAM
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"

	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdx/v2/common"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: sbom PROGRAM")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// run writes the SBOM of a program.
func run(program string, w io.Writer) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return fmt.Errorf("reading the build information: %w", err)
	}
	data, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	doc, err := document(filepath.Base(program), info, sha256.Sum256(data))
	if err != nil {
		return err
	}
	return spdxjson.Write(doc, w, spdxjson.Indent("  "))
}

// document returns the SBOM of a program with the given name and digest.
func document(name string, info *debug.BuildInfo, digest [sha256.Size]byte) (*spdx.Document, error) {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	created, revision := settings["vcs.time"], settings["vcs.revision"]
	if created == "" || revision == "" {
		return nil, errors.New("the program does not record its commit; build it with -buildvcs=true")
	}
	sum := hex.EncodeToString(digest[:])
	doc := &spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT", DocumentName: name,
		DocumentNamespace: "https://" + info.Main.Path + "/sbom/" + name + "-" + sum,
		CreationInfo:      &spdx.CreationInfo{Created: created, Creators: []common.Creator{{CreatorType: "Tool", Creator: "permd-sbom"}}},
		Packages: []*spdx.Package{{
			PackageName: name, PackageSPDXIdentifier: "Package-" + common.ElementID(name), PackageVersion: info.Main.Version,
			PackageDownloadLocation: "git+https://" + info.Main.Path + "@" + revision, PrimaryPackagePurpose: "APPLICATION",
			PackageLicenseConcluded: "Apache-2.0", PackageLicenseDeclared: "Apache-2.0", PackageCopyrightText: "NOASSERTION",
			PackageChecksums: []common.Checksum{{Algorithm: common.SHA256, Value: sum}},
			PackageComment:   "GOARCH=" + settings["GOARCH"] + " -tags " + settings["-tags"],
		}},
	}
	root := doc.Packages[0].PackageSPDXIdentifier
	relate := func(from, to common.ElementID, how string) {
		doc.Relationships = append(doc.Relationships, &spdx.Relationship{RefA: common.MakeDocElementID("", string(from)), RefB: common.MakeDocElementID("", string(to)), Relationship: how})
	}
	relate("DOCUMENT", root, common.TypeRelationshipDescribe)
	add := func(path, version, h1, location string) error {
		id := common.ElementID("Package-" + notInIDs.ReplaceAllString(path, "-") + "-" + notInIDs.ReplaceAllString(version, "-"))
		p := &spdx.Package{
			PackageName: path, PackageSPDXIdentifier: id, PackageVersion: version, PackageDownloadLocation: location,
			PackageLicenseConcluded: "NOASSERTION", PackageLicenseDeclared: "NOASSERTION", PackageCopyrightText: "NOASSERTION",
			PackageExternalReferences: []*spdx.PackageExternalReference{{
				Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL, Locator: "pkg:golang/" + path + "@" + version,
			}},
		}
		if h1 != "" {
			// go.sum's checksum is that of a list of the module's files, in base64.
			raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(h1, "h1:"))
			if err != nil {
				return fmt.Errorf("the checksum of %s: %w", path, err)
			}
			p.PackageAttributionTexts = []string{"go.sum " + h1}
			p.PackageComment = "SHA-256 of go.sum's list of files: " + hex.EncodeToString(raw)
		}
		doc.Packages = append(doc.Packages, p)
		relate(root, id, common.TypeRelationshipContains)
		return nil
	}
	if err := add("std", strings.TrimPrefix(info.GoVersion, "go"), "", "https://go.dev/dl/"); err != nil {
		return nil, err
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		if err := add(m.Path, m.Version, m.Sum, "https://pkg.go.dev/"+m.Path+"@"+m.Version); err != nil {
			return nil, err
		}
	}
	return doc, nil
}

// notInIDs are what an identifier of SPDX must not have.
var notInIDs = regexp.MustCompile(`[^a-zA-Z0-9.-]+`)
