package tools

// shapeData is a shape in the data file.
type shapeData struct {
	Command  []string `yaml:"command"`
	Commands []string `yaml:"commands"`
	Derived  []string `yaml:"derived"`
	Cwd      []string `yaml:"cwd"`
	Shell    []string `yaml:"shell"`
	Typed    []string `yaml:"typed"`
	Feed     []string `yaml:"feed"`
	Code     []string `yaml:"code"`
	Verb     []string `yaml:"verb"`
	Read     []string `yaml:"read"`
	Tree     []string `yaml:"tree"`
	Glob     []string `yaml:"glob"`
	Write    []string `yaml:"write"`
	Delete   []string `yaml:"delete"`
	Touch    []string `yaml:"touch"`
	From     []string `yaml:"from"`
	Connect  []string `yaml:"connect"`
	Host     []string `yaml:"host"`
	Text     []string `yaml:"text"`
	Patch    []string `yaml:"patch"`
	Changes  []string `yaml:"changes"`
	Items    []string `yaml:"items"`
	Filter   []string `yaml:"filter"`
	Grant    []string `yaml:"grant"`
	Ignore   []string `yaml:"ignore"`
	// Harmless members do not affect what a call does: those of generic in the input of any
	// tool, those of a shape in that of its tools.
	Harmless []string `yaml:"harmless"`
	Starts   []string `yaml:"starts"` // generic only
	Narrow   []string `yaml:"narrow"` // generic only

	Needs    []string `yaml:"needs"`
	Whole    bool     `yaml:"whole"`
	Wraps    bool     `yaml:"wraps"`
	Use      string   `yaml:"use"`
	Question string   `yaml:"question"`
	Mode     string   `yaml:"mode"`
	// Enters are the names of the modes that a call of such a tool enters.
	Enters []string `yaml:"enters"`
}

func (d *shapeData) roles() []namedRole {
	return []namedRole{
		{"command", roleCommand, d.Command}, {"commands", roleCommands, d.Commands}, {"derived", roleDerived, d.Derived},
		{"cwd", roleCwd, d.Cwd}, {"shell", roleShell, d.Shell}, {"typed", roleTyped, d.Typed}, {"feed", roleFeed, d.Feed},
		{"code", roleCode, d.Code}, {"verb", roleVerb, d.Verb}, {"read", roleRead, d.Read}, {"tree", roleTree, d.Tree},
		{"glob", roleGlob, d.Glob}, {"write", roleWrite, d.Write}, {"delete", roleDelete, d.Delete},
		{"touch", roleTouch, d.Touch}, {"from", roleFrom, d.From}, {"connect", roleConnect, d.Connect},
		{"host", roleHost, d.Host}, {"text", roleText, d.Text}, {"patch", rolePatch, d.Patch},
		{"changes", roleChanges, d.Changes}, {"items", roleItems, d.Items}, {"grant", roleGrant, d.Grant},
		{"filter", roleFilter, d.Filter}, {"ignore", roleIgnore, d.Ignore},
	}
}

type namedRole struct {
	name    string
	role    role
	members []string
}

type profilesData struct {
	Version  int                  `yaml:"version"`
	Generic  shapeData            `yaml:"generic"`
	Shapes   map[string]shapeData `yaml:"shapes"`
	Standard map[string][]string  `yaml:"standard"`
	Agents   []agentData          `yaml:"agents"`
}

type agentData struct {
	ID           string              `yaml:"id"`
	Names        []string            `yaml:"names"`
	Versions     string              `yaml:"versions"`
	Identity     []string            `yaml:"identity"`
	ClaimedName  bool                `yaml:"claimedName"`
	Kind         string              `yaml:"kind"`
	Title        string              `yaml:"title"`
	ShellPrefix  bool                `yaml:"shellPrefix"`
	Argv         bool                `yaml:"argv"`
	LiveShell    bool                `yaml:"liveShell"`
	FreshShell   bool                `yaml:"freshShell"`
	Shells       []string            `yaml:"shells"`
	Interactive  bool                `yaml:"interactive"`
	Asks         bool                `yaml:"asks"`
	OnceOption   string              `yaml:"onceOption"`
	InputText    bool                `yaml:"inputText"`
	Separator    string              `yaml:"separator"`
	Claimed      []string            `yaml:"claimed"`
	MetaName     []string            `yaml:"metaName"`
	MetaServer   []string            `yaml:"metaServer"`
	MetaInput    []string            `yaml:"metaInput"`
	QuestionMeta []string            `yaml:"questionMeta"`
	CwdText      []string            `yaml:"cwdText"`
	ByKind       map[string]string   `yaml:"byKind"`
	Tools        map[string][]string `yaml:"tools"`
	// Beside are the harmless members that the agent's own shell tools are known to take
	// next to the command.
	Siblings []string `yaml:"beside"`
	Titles   []struct {
		Prefix string `yaml:"prefix"`
		Shape  string `yaml:"shape"`
		Mode   string `yaml:"mode"`
	} `yaml:"titles"`
}
