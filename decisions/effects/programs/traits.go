package programs

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// traits are the keys of an entry that a Program has as they are written. To add
// one, add it here, with its tags, and to rego/programs.schema.json: it is read,
// merged and judged by them. Tests fail for a key that the schema or the table in
// docs/policy.md does not have.
type traits struct {
	SubOptional bool `yaml:"sub_optional" layer:"reading"`    // operands may be where a sub-command could
	Open        bool `yaml:"open" layer:"adds-if-false"`      // options and sub-commands that are not listed are not looked into
	OpenSubs    bool `yaml:"open_subs" layer:"adds-if-false"` // sub-commands that are not listed are not looked into

	Abbreviations bool `yaml:"abbreviations" layer:"adds-if-true"` // unique beginnings of long options are accepted
	Numeric       bool `yaml:"numeric" layer:"reading"`            // -20 is an option
	ValuesBehind  bool `yaml:"values_behind" layer:"reading"`      // -ab V W: the values of options in one word follow it
	Stop          bool `yaml:"stop" layer:"reading"`               // options end at the first operand
	Text          bool `yaml:"text" layer:"reading"`               // every word is text, known or not
	Dashless      bool `yaml:"dashless" layer:"reading"`           // the first word may be options without a dash (tar xzf)

	Readonly      bool        `yaml:"readonly" layer:"adds-if-false"`
	ReadonlyWith  optionNames `yaml:"readonly_with" layer:"reading"`
	ReadonlyAlone optionNames `yaml:"readonly_alone" layer:"reading"`      // options with which, as the only word, it changes nothing
	Changing      string      `yaml:"unknown_if_changing" layer:"adds"`    // why a run that is not read-only is not understood
	Unknown       string      `yaml:"unknown" layer:"adds"`                // why the program is never understood
	PlainOptions  bool        `yaml:"plain_options" layer:"adds-if-false"` // no option does more than change the output
	Interpreter   string      `yaml:"interpreter" layer:"reading"`         // "shell", "other" or ""
	ObeysInput    bool        `yaml:"obeys_input" layer:"adds-if-true"`    // it does what it reads from its standard input
	Network       bool        `yaml:"network" layer:"adds-if-true"`
	Repository    bool        `yaml:"repository" layer:"adds-if-true"` // obeys the configuration of the repository it runs in
	Targets       string      `yaml:"targets" layer:"reading"`         // the file that targets are in

	Recursive     bool        `yaml:"recursive" layer:"adds-if-true"` // operands mean everything below them
	RecursiveWith optionNames `yaml:"recursive_with" layer:"adds"`
	SkipsHidden   bool        `yaml:"skips_hidden" layer:"adds-if-false"` // going through a folder, it leaves out hidden names
	WritesWith    optionNames `yaml:"writes_with" layer:"adds"`           // operands that are read are written as well
	DeletesWith   optionNames `yaml:"deletes_with" layer:"adds"`          // operands that are read or written go afterwards
	ClearsWith    optionNames `yaml:"clears_with" layer:"adds"`           // what is at the target of a copy goes first
	KeepsPaths    optionNames `yaml:"keeps_paths_with" layer:"reading"`   // the target of a copy gets the whole path of each source
	Rearranges    bool        `yaml:"rearranges" layer:"reading"`         // it may put links anywhere in its folder
	DisturbsWith  optionNames `yaml:"disturbs_with" layer:"reading"`      // it only links or moves with one of these
	ArchivesWith  optionNames `yaml:"archives_with" layer:"reading"`      // options with which an archive is written
	UnpacksWith   optionNames `yaml:"unpacks_with" layer:"adds"`          // options with which it fills a folder from an archive
	UnpacksUnless optionNames `yaml:"unpacks_unless" layer:"reading"`     // options without which it does
	KeepsWith     optionNames `yaml:"keeps_with" layer:"reading"`         // options with which what is packed stays as it is
	Completes     []string    `yaml:"completes" layer:"adds"`             // endings with which it tries the name of a file that is not there

	Implies map[string][]string `yaml:"implies" layer:"reading"` // further flags that an option means
	Aliases map[string]string   `yaml:"aliases" layer:"reading"` // further names, and the one that each is another name of
	Modules map[string]string   `yaml:"modules" layer:"reading"` // modules of an interpreter that are programs of the table
}

// optionNames are canonical names of options of the program itself.
type optionNames []string

// keysOf are the keys of a struct of the files, with the fields that have them.
func keysOf(t reflect.Type) map[string]reflect.StructField {
	keys := map[string]reflect.StructField{}
	for _, f := range reflect.VisibleFields(t) {
		if name := f.Tag.Get("yaml"); name != "" && !strings.Contains(name, ",") {
			keys[name] = f
		}
	}
	return keys
}

var traitKeys = keysOf(reflect.TypeFor[traits]())

// trait is the field that has a key, ok is false if none of the traits has it.
func (t *traits) trait(key string) (v reflect.Value, ok bool) {
	f, ok := traitKeys[key]
	if ok {
		v = reflect.ValueOf(t).Elem().FieldByIndex(f.Index)
	}
	return v, ok
}

// take takes a key over from what a layer says. Lists and maps add to what there
// is, all else replaces it. It is false for a key that is no trait.
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

// optionLists are the lists of options of the program itself.
func (t *traits) optionLists() [][]string {
	var lists [][]string
	for _, key := range slices.Sorted(maps.Keys(traitKeys)) {
		v, _ := t.trait(key)
		if names, ok := v.Interface().(optionNames); ok {
			lists = append(lists, names)
		}
	}
	return lists
}
