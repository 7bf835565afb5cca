package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestUsageErrors: the error of a wrong command line uses the names in the help and suggests
// what was probably meant. None of these needs a daemon.
func TestUsageErrors(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][2]string{
		"stauts":                         {`unknown command "stauts" for "permd"`, "did you mean permd status?"},
		"help stauts":                    {`unknown command "stauts" for "permd"`, "did you mean permd status?"},
		"help policy chek":               {`unknown command "chek" for "permd policy"`, "did you mean permd policy check?"},
		"policy chek":                    {`unknown command "chek" for "permd policy"`, "did you mean permd policy check?"},
		"remember frobnicate":            {`unknown command "frobnicate" for "permd remember"`, "one of: add, change, confirm, export, forget, import, list, show, undo"},
		"hook instal":                    {`unknown harness "instal"`, "did you mean permd hook install?"},
		"hook claud":                     {`unknown harness "claud"`, "did you mean permd hook claude?"},
		"status --jsn":                   {"unknown flag: --jsn", "did you mean --json?"},
		"log list --verdct ask":          {"unknown flag: --verdct", "did you mean --verdict?"},
		"log list --nonsense":            {"unknown flag: --nonsense", "see permd log list --help"},
		"status x":                       {"permd status takes no arguments", "see permd status --help"},
		"pause":                          {"DURATION is missing", "see permd pause --help"},
		"remember add run":               {"LINE is missing", "see permd remember add --help"},
		"remember add a b c":             {"there is an argument too many: c", "see permd remember add --help"},
		"remember show":                  {"CHOICE is missing", "see permd remember show --help"},
		"policy check a b":               {"there is an argument too many: b", "see permd policy check --help"},
		"completion":                     {"SHELL is missing", "one of: bash, zsh, fish"},
		"completion bsh":                 {`invalid argument "bsh" for "permd completion"`, "one of: bash, zsh, fish"},
		"import":                         {"TOOL is missing", "one of: claude, codex, gemini, opencode, zed, vscode"},
		"decide":                         {"FILE or - is missing", "see permd decide --help"},
		"log list --limit -1":            {"--limit must be between 0 and 1000", "0 is for all that one answer may hold; --all is for all"},
		"log list --by agnt":             {`decisions cannot be counted by "agnt"`, "one of: agent, project, day, verdict, decided-by, tool, program, host"},
		"log list --decided-by me":       {`nobody decides as "me"`, "one of: policy, memory, human, default, failure, pause, lock"},
		"log list --since 2999-01-01":    {"--since is in the future: 2999-01-01 00:00:00", "write how long ago, such as 7d, or a time that has been"},
		"log list --since 1d --until 2d": {"--until is not after --since", "--since is the earlier one"},
		"log export --format xml":        {`there is no format "xml"`, "one of: jsonl, opa, csv"},
		"today --day 2999-01-01":         {"--day is in the future: 2999-01-01", "write a day that has been, such as yesterday"},
		"explain 01":                     {`"01" is neither a file nor the id of a decision`, "permd log list shows the ids of decisions, of which 4 characters or more are enough"},
	} {
		var out, errs bytes.Buffer
		run(strings.Fields(line), strings.NewReader(""), &out, &errs)
		if got, want := errs.String(), "permd: error: "+want[0]+"\npermd: hint: "+want[1]+"\n"; got != want {
			t.Errorf("permd %s says\n%swant\n%s", line, got, want)
		}
	}
	for _, line := range []string{"--json", "log --json", "hook --json"} {
		var out, errs bytes.Buffer
		if run(strings.Fields(line), strings.NewReader(""), &out, &errs); out.Len() > 0 || !strings.HasPrefix(errs.String(), `{"error":{"message":"`) {
			t.Errorf("permd %s prints %q and says %q", line, &out, &errs)
		}
	}
}
