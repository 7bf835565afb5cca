// Command systems checks that permd, with its tests, compiles for a system that it is not run
// on here: macOS, without cgo. It reads everything from source, the standard library too; the
// go command would compile all that for the other system first, which takes ten times as
// long. What go vet says besides, it says of the same source for this system.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"golang.org/x/tools/go/packages"
)

func main() {
	system := flag.String("os", "darwin", "the system, a value of GOOS")
	flag.Parse()
	if err := check(".", *system, flag.Args()...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// check returns all errors that the packages of a module, which the patterns name (all of
// them, if there are none), and those that they import have for a system.
func check(dir, system string, patterns ...string) error {
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	list, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo,
		Dir:   dir,
		Env:   append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0"),
		Tests: true,
	}, patterns...)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return fmt.Errorf("no packages: %q", patterns)
	}
	var found []error
	packages.Visit(list, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			found = append(found, e)
		}
	})
	return errors.Join(found...)
}
