//go:build linux

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"maps"
	"time"
)

// tracked are the files of the tree that its repository tracks.
var tracked = []string{"a.txt", "b.txt", "README.md", "src/main.go", "src/a.txt", "x y"}

// linked returns a tree with what leads elsewhere: links of every kind, archives
// that contain links, a repository with a commit, and inside it another repository
// whose settings run a command.
func linked() tree {
	files := map[string]string{
		"project/a.txt": "a\nb\na b\n", "project/b.txt": "b\nb\n", "project/n.txt": "1 a.txt\n2 src\n", "project/README.md": "# project\n",
		"project/src/main.go": "package main\n", "project/src/a.txt": "src\n", "project/src/deep/x.txt": "x\n", "project/docs/index.md": "docs\n", "project/d/": "",
		"project/x y": "two words\n", "project/j.json": "{\"a\": [1, 2]}\n", "project/list": "a.txt\nl.shadow\n", "project/list0": "a.txt\x00l.shadow\x00",
		"project/" + hostile: "", "project/.env": secrets[project+"/.env"] + "\n", "other/shadow": secrets[home+"/other/shadow"] + "\n", "other/a.txt": "other\n", ".profile": "x\n",
		"project/l.file": "-> a.txt", "project/l.dir": "-> src", "project/l.gone": "-> nosuch", "project/l.out": "-> ../other", "project/l.shadow": "-> ../other/shadow",
		"project/l.env": "-> .env", "project/l.abs": "-> " + project + "/src", "project/l.loop": "-> l.loop", "project/l.up": "-> ..", "project/l.new": "-> ../other/new", "project/-": "-> ../other/shadow",
		"project/src/l.out": "-> ../../other", "project/src/l.file": "-> ../a.txt", "project/docs/l.shadow": "-> ../l.shadow", "project/docs/sh.sh": "-> ../" + hostile,
		"project/t.tar": tarFile(), "project/t.tgz": packed(tarFile()), "project/t.zip": zipFile(), "project/g.txt.gz": packed("g\n"),
		"project/sub/.git/HEAD": "ref: refs/heads/main\n", "project/sub/.git/config": "[core]\n\tfsmonitor = " + project + "/" + hostile + "\n\tpager = pwned\n[diff]\n\texternal = pwned\n",
		"project/sub/.git/objects/": "", "project/sub/.git/refs/heads/": "", "project/sub/a.txt": "sub\n",
	}
	committed := map[string]string{}
	for _, name := range tracked {
		committed[name] = files["project/"+name]
	}
	committed["b.txt"] = "b\n" // the file in the tree has other contents
	committed["gone.txt"] = "gone\n"
	for name, text := range repository(committed) {
		files["project/.git/"+name] = text
	}
	return tree{"links", maps.Clone(files)}
}

// members are the members of both archives. Some lead out of the folder.
var members = []struct{ name, text, link string }{
	{name: "in/x.txt", text: "x\n"}, {name: "a.txt", text: "new\n"}, {name: "in/l", link: "../../other"}, {name: "in/up", link: "../.."}, {name: "../above", text: "x\n"},
}

func tarFile() string {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range members {
		h := &tar.Header{Name: m.name, Size: int64(len(m.text)), Mode: 0o644, Linkname: m.link, ModTime: time.Unix(0, 0)}
		if m.link != "" {
			h.Typeflag = tar.TypeSymlink
		}
		must(w.WriteHeader(h))
		_, err := io.WriteString(w, m.text)
		must(err)
	}
	must(w.Close())
	return b.String()
}

func zipFile() string {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, m := range members {
		h := &zip.FileHeader{Name: m.name}
		h.SetMode(0o644)
		if m.link != "" {
			h.SetMode(0o777 | 1<<27) // a link
			m.text = m.link
		}
		f, err := w.CreateHeader(h)
		must(err)
		_, err = io.WriteString(f, m.text)
		must(err)
	}
	must(w.Close())
	return b.String()
}

func packed(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, text)
	must(err)
	must(w.Close())
	return b.String()
}

// must panics on an error. It is for writers to memory, which cannot fail.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
