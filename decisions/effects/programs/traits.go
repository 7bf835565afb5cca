package programs

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// traits are the keys of an entry that Program keeps as they are written. To add a
// key, add it here, with its tags, and to rego/programs.schema.json: parsing, merging
// and the checks of layers use the tags. Tests fail for a key that the schema or the
// table in docs/policy.md lacks.
type traits struct {
	SubOptional bool `yaml:"sub_optional" layer:"reading"`    // operands may occur where a sub-command could
	Open        bool `yaml:"open" layer:"adds-if-false"`      // options and sub-commands that are not listed are ignored
	OpenSubs    bool `yaml:"open_subs" layer:"adds-if-false"` // sub-commands that are not listed are ignored

	Abbreviations     bool `yaml:"abbreviations" layer:"adds-if-true"` // unique prefixes of long options are accepted
	Numeric           bool `yaml:"numeric" layer:"reading"`            // -20 is an option
	Unbundled         bool `yaml:"unbundled" layer:"reading"`          // -ab is an option of its own, not -a and -b
	ValuesAfterBundle bool `yaml:"values_behind" layer:"reading"`      // -ab V W: the values of bundled options follow the bundle
	Stop              bool `yaml:"stop" layer:"reading"`               // options end at the first operand
	Text              bool `yaml:"text" layer:"reading"`               // every word is text, known or not
	Dashless          bool `yaml:"dashless" layer:"reading"`           // the first word may be options without a dash (tar xzf)
	Plus              bool `yaml:"plus" layer:"reading"`               // a word that begins with + may be an option, too

	Readonly      bool        `yaml:"readonly" layer:"adds-if-false"`
	ReadonlyWith  optionNames `yaml:"readonly_with" layer:"reading"`
	ReadonlyAlone optionNames `yaml:"readonly_alone" layer:"reading"`      // options with which, as the only word, it is read-only
	Alike         bool        `yaml:"alike" layer:"reading"`               // all operands are as dangerous as others
	OwnData       bool        `yaml:"own_data" layer:"adds-if-false"`      // it changes only its own data in the project
	Reformats     bool        `yaml:"reformats" layer:"adds-if-false"`     // what it writes to the files that it reads is these in its own format
	ReformatsNot  optionNames `yaml:"reformats_unless" layer:"reading"`    // options with which it writes something else
	Changing      string      `yaml:"unknown_if_changing" layer:"adds"`    // why a run that is not read-only is an unknown effect
	Unknown       string      `yaml:"unknown" layer:"adds"`                // why every run is an unknown effect
	PlainOptions  bool        `yaml:"plain_options" layer:"adds-if-false"` // options only change the output
	Interpreter   string      `yaml:"interpreter" layer:"reading"`         // "shell", "other" or ""
	ObeysInput    bool        `yaml:"obeys_input" layer:"adds-if-true"`    // it executes commands that it reads from standard input
	Network       bool        `yaml:"network" layer:"adds-if-true"`
	Repository    bool        `yaml:"repository" layer:"adds-if-true"` // it obeys the configuration of its repository
	Targets       string      `yaml:"targets" layer:"reading"`         // the file that defines the targets

	Recursive     bool        `yaml:"recursive" layer:"adds-if-true"` // operands include everything below them
	RecursiveWith optionNames `yaml:"recursive_with" layer:"adds"`
	Pathspecs     bool        `yaml:"pathspecs" layer:"adds-if-true"`     // operands are git's pathspecs: patterns, and folders with all in them
	SkipsHidden   bool        `yaml:"skips_hidden" layer:"adds-if-false"` // a recursive search skips hidden names
	// What of a folder a recursive run does not read.
	Opens              []string    `yaml:"opens" layer:"reading"`                      // it reads only files whose names end so, "" for those without a dot
	SkipsLinks         bool        `yaml:"skips_links" layer:"adds-if-false"`          // it follows no links in a folder
	SkipsLinkedFolders bool        `yaml:"skips_linked_folders" layer:"adds-if-false"` // it follows no links to folders there
	SkipsLinksWith     optionNames `yaml:"skips_links_with" layer:"reading"`           // options with which it follows none
	FollowsWith        optionNames `yaml:"follows_with" layer:"adds"`                  // options with which it follows all the same

	WritesWith    optionNames `yaml:"writes_with" layer:"adds"`         // operands that are read are also written
	DeletesWith   optionNames `yaml:"deletes_with" layer:"adds"`        // operands that are read or written are then deleted
	ParentsWith   optionNames `yaml:"parents_with" layer:"adds"`        // the folders above a deleted operand, as far as it names them, are deleted too
	ClearsWith    optionNames `yaml:"clears_with" layer:"adds"`         // the target of a copy is deleted first
	KeepsPaths    optionNames `yaml:"keeps_paths_with" layer:"reading"` // the target of a copy gets the whole path of each source
	Rearranges    bool        `yaml:"rearranges" layer:"reading"`       // it may create links anywhere in its folder
	DisturbsWith  optionNames `yaml:"disturbs_with" layer:"reading"`    // it links or moves only with one of these
	ArchivesWith  optionNames `yaml:"archives_with" layer:"reading"`    // options that write an archive
	UnpacksWith   optionNames `yaml:"unpacks_with" layer:"adds"`        // options that unpack an archive into a folder
	UnpacksUnless optionNames `yaml:"unpacks_unless" layer:"reading"`   // options without which it unpacks
	KeepsWith     optionNames `yaml:"keeps_with" layer:"reading"`       // options with which the packed file is kept
	Completes     []string    `yaml:"completes" layer:"adds"`           // suffixes that it tries for a file that does not exist

	Implies map[string][]string `yaml:"implies" layer:"reading"` // other options that an option implies
	Aliases map[string]string   `yaml:"aliases" layer:"reading"` // aliases, with the name that each stands for
	Modules map[string]string   `yaml:"modules" layer:"reading"` // modules of an interpreter that are programs in the table
	// CountsAsDescribed are modules of an interpreter, and packages with a version, whose run counts as
	// that of what is described: only that depends on it.
	CountsAsDescribed []string `yaml:"described" layer:"reading"`
}

// optionNames are canonical names of a program's own options.
type optionNames []string

// keysOf returns the fields of a struct of the files by their keys.
func keysOf(t reflect.Type) map[string]reflect.StructField {
	keys := map[string]reflect.StructField{}
	for _, f := range reflect.VisibleFields(t) {
		if name := f.Tag.Get("yaml"); name != "" && !strings.Contains(name, ",") {
			keys[name] = f
		}
	}
	return keys
}

// traitKeys returns the keys of traits.
var traitKeys = sync.OnceValue(func() map[string]reflect.StructField { return keysOf(reflect.TypeFor[traits]()) })

// trait returns the field of a key; ok is false if none of the traits has it.
func (t *traits) trait(key string) (v reflect.Value, ok bool) {
	f, ok := traitKeys()[key]
	if ok {
		v = reflect.ValueOf(t).Elem().FieldByIndex(f.Index)
	}
	return v, ok
}

// take sets a key to a layer's value. Lists and maps are added to, everything else is
// replaced. It returns false for a key that is no trait.
func (t *traits) take(from *traits, key string) bool {
	to, ok := t.trait(key)
	if !ok {
		return false
	}
	more, _ := from.trait(key)
	switch list, table := to.Kind() == reflect.Slice, to.Kind() == reflect.Map; {
	case (list || table) && more.Len() == 0:
	case list:
		all := reflect.MakeSlice(to.Type(), 0, to.Len()+more.Len())
		to.Set(reflect.AppendSlice(reflect.AppendSlice(all, to), more))
	case table:
		all := reflect.MakeMap(to.Type())
		for _, m := range []reflect.Value{to, more} {
			for i := m.MapRange(); i.Next(); {
				all.SetMapIndex(i.Key(), i.Value())
			}
		}
		to.Set(all)
	default:
		to.Set(more)
	}
	return true
}

// optionLists returns the lists of the program's own options.
func (t *traits) optionLists() [][]string {
	var lists [][]string
	for _, key := range slices.Sorted(maps.Keys(traitKeys())) {
		v, _ := t.trait(key)
		if names, ok := v.Interface().(optionNames); ok {
			lists = append(lists, names)
		}
	}
	return lists
}
