package imports

import (
	"path/filepath"
	"strings"

	"github.com/permd/permd/decisions"
)

// Gemini CLI: settings.json, and policies in TOML whose rule with the highest
// priority decides.

// Priorities that settings.json has when compared with rules.
const (
	geminiExclude = 400
	geminiAllowed = 300
	geminiTrust   = 200
)

func (t *translator) gemini(f File) error {
	if filepath.Ext(f.Name) == ".toml" {
		doc, err := parseTOML(f)
		if err != nil {
			return err
		}
		return t.geminiPolicy(doc)
	}
	doc, err := parseJSONC(f)
	if err != nil {
		return err
	}
	if doc.kind != '{' {
		return &fileError{at: t.at(doc.line), err: typeError("object", doc)}
	}
	others := 0
	for _, m := range doc.members {
		switch m.name {
		case "tools":
			err = t.geminiTools(m.value)
		case "coreTools", "excludeTools", "allowedTools":
			err = t.geminiTool(member{strings.TrimSuffix(strings.TrimSuffix(m.name, "Tools"), "Tools"), m.line, m.value})
		case "autoAccept":
			t.mode(m.line, m.name+": "+m.value.show(), "it accepts what is safe by itself", `profile = "careful" or "balanced" does so`)
		case "mcpServers":
			err = t.geminiServers(m.value)
		case "mcp":
			err = t.geminiMCP(m.value)
		case "allowMCPServers", "excludeMCPServers":
			err = t.geminiMCP(&node{kind: '{', line: m.line, members: []member{{strings.ToLower(strings.TrimSuffix(m.name, "MCPServers")), m.line, m.value}}})
		case "general", "security", "approvalMode", "policyPaths", "adminPolicyPaths", "folderTrust", "sandbox":
			t.geminiModes(m)
		default:
			others++
		}
		if err != nil {
			return err
		}
	}
	if others > 0 {
		t.note(Note{At: t.at(0), Text: otherSettings(others), Outcome: Remark, Why: "they say nothing of permissions"})
	}
	return nil
}

func (t *translator) geminiModes(m member) {
	if m.value.kind != '{' {
		t.mode(m.line, m.name+": "+m.value.show(), "it is no rule; permd has profiles instead", `profile = "balanced" comes nearest`)
		return
	}
	for _, k := range m.value.members {
		switch k.name {
		case "defaultApprovalMode":
			why := map[string]string{"default": `it asks for what no rule allows; profile = "careful" comes nearest`,
				"auto_edit": `it lets files be edited without asking; profile = "balanced" does so in the project`,
				"plan":      `it only looks; profile = "careful" comes nearest`,
				"yolo":      `it allows everything; permd has no such profile, and this import widens nothing`}[k.value.text]
			if why == "" {
				why = "permd does not know this mode"
			}
			t.mode(k.line, k.name+": "+k.value.show(), why, "")
		case "disableYoloMode", "disableAlwaysAllow", "enablePermanentToolApproval", "folderTrust", "toolSandboxing", "autoAddToPolicyByDefault":
			t.mode(k.line, m.name+"."+k.name+": "+k.value.show(), "it belongs to "+Gemini.Name()+"'s own modes", "")
		default:
			if m.name == "security" {
				t.otherKey(k, []string{"auth"})
			}
		}
	}
}

func (t *translator) geminiTools(n *node) error {
	if n.kind != '{' {
		return &fileError{at: t.at(n.line), err: typeError("object", n)}
	}
	for _, m := range n.members {
		switch m.name {
		case "core", "exclude", "allowed", "confirmationRequired":
			if err := t.geminiTool(m); err != nil {
				return err
			}
		case "sandbox", "sandboxAllowedPaths", "sandboxNetworkAccess":
			t.leaveOut(m.line, "tools."+m.name, Elsewhere, "keep it: a sandbox holds what a judgement cannot", "permd judges calls and builds no sandbox")
		case "autoAccept":
			t.mode(m.line, "tools."+m.name+": "+m.value.show(), "it accepts what is safe by itself", "")
		default:
			t.otherKey(m, []string{"shell", "discoveryCommand", "callCommand", "useRipgrep", "truncateToolOutputThreshold", "disableLLMCorrection"})
		}
	}
	return nil
}

// geminiTool reads a list of tools: those available, those excluded, or those
// that are not asked about.
func (t *translator) geminiTool(m member) error {
	if m.value.kind != '[' {
		return &fileError{at: t.at(m.line), err: typeError("list", m.value)}
	}
	if m.name == "core" {
		return t.geminiCore(m)
	}
	for _, item := range m.value.items {
		if item.kind != '"' {
			return &fileError{at: t.at(item.line), err: typeError("text", item)}
		}
		r := rule{at: t.at(item.line), text: m.name + " " + item.text, m: geminiNamed(item.text), rank: geminiExclude}
		switch m.name {
		case "allowed":
			r.set, r.rank = decisions.SetAllow, geminiAllowed
		case "exclude":
			r.set = decisions.SetDeny
		default:
			r.set = decisions.SetAsk
		}
		t.add(r)
	}
	return nil
}

// geminiCore reads the list of the only available built-in tools. Tools on it
// are asked about, all others are denied.
func (t *translator) geminiCore(m member) error {
	listed := make(map[area]bool)
	for _, item := range m.value.items {
		if item.kind != '"' {
			return &fileError{at: t.at(item.line), err: typeError("text", item)}
		}
		named := geminiNamed(item.text)
		listed[named.area] = true
		if named.area == runArea && !named.all {
			t.add(rule{at: t.at(item.line), text: "core " + item.text, set: decisions.SetAsk, m: named, rank: 1})
			listed[runArea] = false
		}
	}
	for _, tool := range []struct {
		area area
		name string
	}{{runArea, "run_shell_command"}, {editArea, "write_file"}, {fetchArea, "web_fetch"}, {readArea, "read_file"}} {
		if !listed[tool.area] {
			t.add(rule{at: t.at(m.line), text: "core does not list " + tool.name, set: decisions.SetDeny, m: wholeArea(tool.area)})
		}
	}
	return nil
}

// geminiNamed returns the match of a tool by its name, with words of a command
// in brackets.
func geminiNamed(text string) match {
	name, spec, ok := strings.Cut(strings.TrimSuffix(text, ")"), "(")
	m := geminiArea(name)
	if ok && m.area == runArea {
		if spec = strings.TrimSuffix(spec, ":*"); spec != "" {
			return runPrefix(strings.TrimSpace(strings.TrimSuffix(spec, "*")))
		}
	}
	return m
}

// geminiArea returns the match of all calls of a tool.
func geminiArea(name string) match {
	switch name {
	case "*":
		return wholeArea(anyArea)
	case "run_shell_command", "ShellTool", "shell":
		return wholeArea(runArea)
	case "read_file", "read_many_files", "list_directory", "glob", "search_file_content", "grep_search",
		"ReadFileTool", "ReadManyFilesTool", "LSTool", "GlobTool", "GrepTool", "RipGrepTool":
		return wholeArea(readArea)
	case "write_file", "replace", "edit", "WriteFileTool", "EditTool":
		return wholeArea(editArea)
	case "web_fetch", "WebFetchTool":
		return wholeArea(fetchArea)
	}
	if rest, ok := strings.CutPrefix(name, "mcp_"); ok {
		if rest == "*" {
			return wholeArea(toolArea)
		}
		if server, toolName, ok := strings.Cut(rest, "_"); ok {
			return geminiServerTool(server, toolName, name)
		}
	}
	if server, toolName, ok := strings.Cut(name, "__"); ok {
		return geminiServerTool(server, toolName, name)
	}
	return tool("", name)
}

// geminiServerTool is a server's tool, which may appear under its long name
// only.
func geminiServerTool(server, toolName, long string) match {
	m := tool(server, toolName)
	if strings.Contains(server, "*") && server != "*" {
		return m
	}
	own := tool("", long)
	m.bodies, m.exact = append(m.bodies, own.bodies...), false
	says := m.decides
	m.decides = func(i *Item) bool { return says(i) || own.decides(i) }
	return m
}

func (t *translator) geminiServers(n *node) error {
	if n.kind != '{' {
		return &fileError{at: t.at(n.line), err: typeError("object", n)}
	}
	for _, s := range n.members {
		for _, k := range s.value.members {
			switch k.name {
			case "trust":
				if k.value.kind == 't' {
					t.add(rule{at: t.at(k.line), text: "mcpServers." + s.name + ".trust", set: decisions.SetAllow, m: tool(s.name, "*"), rank: geminiTrust})
				}
			case "excludeTools":
				if k.value.kind != '[' {
					return &fileError{at: t.at(k.line), err: typeError("list", k.value)}
				}
				for _, item := range k.value.items {
					t.add(rule{at: t.at(item.line), text: "mcpServers." + s.name + ".excludeTools " + item.text, set: decisions.SetDeny,
						m: tool(s.name, item.text), rank: geminiExclude})
				}
			case "includeTools":
				t.leaveOut(k.line, "mcpServers."+s.name+"."+k.name, Elsewhere, "deny the others under use", "it says which tools are offered, not what they may do")
			}
		}
	}
	return nil
}

func (t *translator) geminiMCP(n *node) error {
	if n.kind != '{' {
		return &fileError{at: t.at(n.line), err: typeError("object", n)}
	}
	for _, m := range n.members {
		if m.name != "excluded" && m.name != "exclude" {
			t.leaveOut(m.line, "mcp."+m.name, Elsewhere, "", "it says which servers start, not what their tools may do")
			continue
		}
		for _, item := range m.value.items {
			t.add(rule{at: t.at(item.line), text: "mcp.excluded " + item.text, set: decisions.SetDeny, m: tool(item.text, "*"), rank: 900})
		}
	}
	return nil
}
