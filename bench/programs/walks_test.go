package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/bench/shipped"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lexpath"
	"github.com/permd/permd/internal/testload"
)

// walkedFolders are folders of which each holds one kind of files that a program may pass by,
// or read, when it walks the folder. @ is each of the suffixes, and the texts of links begin
// with linkTo.
var walkedFolders = map[string][]string{
	"hidden-folders": {".aws/f@", ".ssh/f@"},
	"hidden-files":   {".env@", ".netrc@"},
	"secrets":        {"secrets@", "id_rsa@", "credentials@", "server.pem"},
	"file-links":     {"l@ -> ../../../.aws/f@", "m@ -> ../../../.ssh/id_rsa"},
	"folder-links":   {"k -> ../../../.aws"},
	"denied":         {"d@ -> ../../../plain/f@"},
}

// walkSuffixes are the endings of names by which programs choose files.
var walkSuffixes = strings.Fields(". .go .sh .bash .yaml .yml .py .js .ts .json .toml .md .txt .tf .rs .c .html .xml .zip .7z .gz .so .rb")

// walkingLine is a command line whose last operand is a folder.
type walkingLine struct {
	words   []string // without the folder
	options []string
}

// folderLines returns the command lines of an entry of the program table in which a folder may stand for
// the files that it reads.
func folderLines(e *shipped.Entry, words []string) (all []walkingLine) {
	for _, role := range e.Operands {
		kind, _, _ := strings.Cut(role, " ")
		kind = strings.TrimSuffix(kind, "...")
		if slices.Contains([]string{"reads", "matched", "lists", "sources", "viewed", "object", "packs", "archive", "database"}, kind) {
			line := walkingLine{words: words}
			for _, spelled := range e.Options["harmless"] {
				name := strings.Fields(spelled)[0]
				if !strings.HasSuffix(name, "=") && !strings.HasSuffix(name, "[=]") {
					line.options = append(line.options, name)
				}
			}
			all = append(all, line)
			break
		}
		if len(values[kind]) == 0 {
			break
		}
		words = append(slices.Clip(words), values[kind][0])
	}
	for i := range e.Sub {
		all = append(all, folderLines(&e.Sub[i], append(slices.Clip(words), e.Sub[i].Names[0]))...)
	}
	return all
}

// TestWalks gives a folder to each program of the table that is installed: those of its files that it
// opens are ones that its effects name, and that it may read one by one.
func TestWalks(t *testing.T) {
	j, w := tracedPlace(t)
	table, err := readTable()
	if err != nil {
		t.Fatal(err)
	}
	w.addWalked(t)
	var forms [][]string
	for _, name := range slices.Sorted(maps.Keys(table.programs)) {
		if _, err := findIn(programFolders(""), name); err != nil {
			continue
		}
		for _, line := range folderLines(table.programs[name], []string{name}) {
			forms = append(forms, line.words)
			for _, option := range line.options {
				forms = append(forms, append(slices.Clip(line.words), option))
			}
		}
	}
	k := &walkCheck{judge: j, place: w, alone: map[string]bool{}}
	for _, form := range testload.SampleOf(t, 60, forms, func(form []string) string {
		if quoted(form) == alwaysWalks {
			return form[0]
		}
		return ""
	}) {
		k.form(t, form)
	}
	t.Logf("%d command lines ran; these walk folders: %s", k.ran, strings.Join(k.walkers, ", "))
	if !slices.Contains(k.walkers, alwaysWalks) {
		t.Error("grep -r opened nothing")
	}
}

// alwaysWalks is a command that opens files of each folder.
const alwaysWalks = "grep 1 -r"

// walkCheck compares what programs open of folders with their effects.
type walkCheck struct {
	judge   *judge
	place   *place
	alone   map[string]bool // whether a file may be read if it is named
	ran     int
	walkers []string
}

// maxWalk is how long a program may take.
const maxWalk = 20 * time.Second

// form tries a command on a plain folder, and if it opens files there on the other folders.
func (k *walkCheck) form(t *testing.T, form []string) {
	t.Helper()
	if opened, _ := k.opens(t, form, "plain"); len(opened) == 0 {
		return
	}
	k.walkers = append(k.walkers, quoted(form))
	for folder := range walkedFolders {
		opened, list := k.opens(t, form, folder)
		for _, file := range opened {
			if _, known := k.alone[file]; !known {
				verdict, _, err := k.judge.decide(t.Context(), k.place, []string{"cat", file})
				k.alone[file] = err == nil && verdict == decisions.Allow
			}
			short := lexpath.Shorten(k.place.home, file)
			switch {
			case !covered(file, list):
				t.Errorf("%s walk/%s: opened %s, which is no effect", quoted(form), folder, short)
			case !k.alone[file]:
				t.Errorf("%s walk/%s: opened %s, about which permd asks", quoted(form), folder, short)
			default:
				continue
			}
			break
		}
	}
}

// opens returns which of the files that were made for it a command line opens if it is given a
// folder, and its effects; nothing if permd does not allow it.
func (k *walkCheck) opens(t *testing.T, form []string, folder string) (opened []string, list []effects.Effect) {
	t.Helper()
	words := append(slices.Clip(form), "walk/"+folder)
	verdict, list, err := k.judge.decide(t.Context(), k.place, words)
	if err != nil || verdict != decisions.Allow {
		return nil, nil
	}
	r, err := trace(t.Context(), k.place, words, maxWalk)
	if err != nil {
		t.Fatal(err)
	}
	k.ran++
	for _, file := range r.reads {
		if lexpath.Below(k.place.project+"/walk", file) || lexpath.Below(k.place.home+"/.aws", file) || lexpath.Below(k.place.home+"/plain", file) || lexpath.Below(k.place.home+"/.ssh", file) {
			opened = append(opened, file)
		}
	}
	return opened, list
}

// addWalked adds the folders that are walked to a place.
func (w *place) addWalked(t *testing.T) {
	t.Helper()
	put := func(file, text string) {
		if err := w.write(file, text); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(text, linkTo) {
			if err := os.Chmod(file, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, s := range walkSuffixes {
		s = strings.TrimSuffix(s, ".") // the first one is none
		put(filepath.Join(w.project, "walk/plain/a"+s), "#!/bin/sh\necho  x\n")
		put(filepath.Join(w.home, ".aws/f"+s), "#!/bin/sh\necho  x\n")
		put(filepath.Join(w.home, "plain/f"+s), "#!/bin/sh\necho  x\n")
		for folder, names := range walkedFolders {
			put(filepath.Join(w.project, "walk", folder, "plain"+s), "#!/bin/sh\necho  x\n")
			for _, n := range names {
				name, target, link := strings.Cut(strings.ReplaceAll(n, "@", s), " -> ")
				file, text := filepath.Join(w.project, "walk", folder, name), "#!/bin/sh\necho  x\n"
				if link {
					text = linkTo + target
				}
				if _, err := os.Lstat(file); err != nil {
					put(file, text)
				}
			}
		}
	}
}
