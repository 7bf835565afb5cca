// Package inputtest builds inputs of rules for tests.
package inputtest

import (
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
)

// Of returns the input of the first of some effects.
func Of(list ...effects.Effect) *decisions.Input {
	return &decisions.Input{
		Effect: &list[0],
		All:    list,
		Call: &effects.Call{
			Protocol: "permd",
			Tool:     effects.Tool{Name: "Bash"},
			Input:    []byte(`{"command":"x","deep":{"n":12345678901234567890}}`),
			Cwd:      "/home/u/p",
			User:     effects.User{UID: 1000, Name: "u", Home: "/home/u"},
		},
		Result: &effects.Result{Effects: list, Completeness: effects.Full, Project: "/home/u/p"},
		Now:    time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC),
	}
}

// Run returns a run of a program with its arguments.
func Run(program string, args ...string) effects.Effect {
	r := &effects.Run{Program: program, Args: args, Cwd: "/home/u/p", Known: true, HarmlessFrom: len(args)}
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		r.Subcommand = args[0]
	}
	for _, a := range args {
		if strings.HasPrefix(a, "--") {
			r.Flags = append(r.Flags, a)
		}
	}
	return effects.Effect{Kind: effects.KindRun, Text: "run " + program, From: "rawInput.command", Run: r}
}

// File returns an effect on a path.
func File(kind effects.Kind, path string, tags ...effects.Tag) effects.Effect {
	return effects.Effect{Kind: kind, Text: string(kind) + " " + path, From: "rawInput.path",
		Tags: effects.TagsOf(tags...), File: &effects.File{Path: path, AsWritten: path}}
}

// Connect returns a connection by HTTPS.
func Connect(host string) effects.Effect {
	return effects.Effect{Kind: effects.KindConnect, Text: "connect " + host,
		Connect: &effects.Connect{Host: host, Port: 443, Scheme: "https", URL: "https://" + host + "/", Method: effects.MethodGet}}
}

// Use returns a use of a named tool.
func Use(server, tool, args string) effects.Effect {
	return effects.Effect{Kind: effects.KindUse, Text: "use " + tool,
		Use: &effects.Use{Server: server, Tool: tool, Arguments: []byte(args)}}
}

// Why returns an effect that has only a text.
func Why(kind effects.Kind, text string) effects.Effect {
	return effects.Effect{Kind: kind, Text: text, Why: text}
}

// Everything returns an input of each kind with every possible field.
func Everything() []*decisions.Input {
	script := Run("./x.sh", "a")
	script.Run.Executable = "./x.sh"
	script.Run.Operands = []string{"a"}
	script.Run.Script = &effects.Script{Path: "/home/u/p/x.sh", SHA256: "ab"}
	effectsOfAllKinds := []effects.Effect{
		script,
		File(effects.KindRead, "/home/u/p/a", effects.InProject),
		File(effects.KindWrite, "/home/u/p/b"),
		File(effects.KindDelete, "/home/u/p/c"),
		Connect("example.com"),
		versioned(Use("github", "get_me", `{"a":[1]}`)),
		Why(effects.KindState, "export"),
		Why(effects.KindMode, "auto"),
		Why(effects.KindQuestion, "which"),
		Why(effects.KindUnknown, "what"),
	}
	var out []*decisions.Input
	for i := range effectsOfAllKinds {
		all := slices.Clone(effectsOfAllKinds)
		all[i].Via = &effects.Via{Effect: 0, Arg: 0}
		in := Of(all...)
		in.Effect = &all[i]
		in.Session = decisions.SessionRef{ID: "s", Ancestors: []string{"p"}, Mode: "plan"}
		in.Call.Agent = effects.Party{Name: "a", Version: "1"}
		in.Call.Client = effects.Party{Name: "c", Version: "2"}
		in.Call.Claims = effects.Claims{Title: "t", Kind: "execute", User: "dana", TraceID: "tr-1", Status: "pending",
			Options: []string{"allow_once"}, Meta: []byte(`{"claudeCode":{"toolName":"Bash"}}`)}
		in.Call.User.Groups = []string{"g"}
		in.Result.Claimed = []effects.ClaimedPath{{Path: "/home/u/p/a", AsWritten: "a", Source: effects.SourceLocation, Tags: effects.TagsOf(effects.InProject)}}
		in.Result.Defects = []effects.Defect{{Code: effects.DefectDropped}}
		out = append(out, in)
	}
	return out
}

func versioned(e effects.Effect) effects.Effect {
	e.Use.Version = "1.2.0"
	e.Use.Credentials = effects.Credentials{Secrets: []string{"KEY"}, Authorizations: []effects.Authorization{{ID: "idp", Scopes: []string{"read"}}}}
	return e
}

// Paths adds the paths of all members of a value to a set, except those in
// lists.
func Paths(v ast.Value, at string, into map[string]bool) {
	if at == "call.raw" || at == "effect.arguments" {
		into[at] = true
		return // the members below it are the client's
	}
	obj, ok := v.(ast.Object)
	if !ok {
		into[at] = true
		return
	}
	obj.Foreach(func(k, t *ast.Term) {
		Paths(t.Value, strings.TrimPrefix(at+"."+string(k.Value.(ast.String)), "."), into)
	})
}
