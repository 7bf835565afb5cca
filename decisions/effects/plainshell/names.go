package plainshell

import (
	"strings"
	"sync"
)

// Builtins and reserved words of the shells. TestNames compares each list with the installed
// shell and fails if the shell has more.
const (
	// bash 5.2.15: compgen -b
	bashBuiltins = `
. : [ alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown echo enable eval exec
exit export false fc fg getopts hash help history jobs kill let local logout mapfile popd printf pushd pwd read readarray readonly
return set shift shopt source suspend test times trap true type typeset ulimit umask unalias unset wait`

	// bash 5.2.15: compgen -k
	bashReserved = `
! [[ ]] case coproc do done elif else esac fi for function if in select then time until while { }`

	// zsh 5.9: print -l ${(k)builtins}. "-" is a modifier of the command after it.
	zshBuiltins = `
- . : [ alias autoload bg bindkey break builtin bye cd chdir command compadd comparguments compcall compctl compdescribe compfiles
compgroups compquote compset comptags comptry compvalues continue declare dirs disable disown echo echotc echoti emulate enable
eval exec exit export false fc fg float functions getln getopts hash history integer jobs kill let limit local log logout noglob
popd print printf private pushd pushln pwd r read readonly rehash return sched set setopt shift source suspend test times trap
true ttyctl type typeset ulimit umask unalias unfunction unhash unlimit unset unsetopt vared wait whence where which zcompile
zformat zle zmodload zparseopts zregexparse zstyle`

	// zsh 5.9: print -l ${(k)reswords}
	zshReserved = `
! [[ case coproc declare do done elif else end esac export fi float for foreach function if integer local nocorrect readonly
repeat select then time typeset until while { }`

	// dash 0.5.12: its manual page. It has no other reserved words than bash.
	dashBuiltins = `
. : [ alias bg break cd chdir command continue echo eval exec exit export false fg getopts hash jobs kill local printf pwd read
readonly return set shift test times trap true type ulimit umask unalias unset wait`

	// busybox 1.35: busybox ash -c help
	busyboxBuiltins = `
. : [ [[ alias bg break cd chdir command continue echo eval exec exit export false fg getopts hash help history jobs kill let
local printf pwd read readonly return set shift source test times trap true type ulimit umask unalias unset wait`

	// POSIX.1-2024, 2.9.1.4, which a shell may run itself.
	posixBuiltins = `
alias bg cd command false fc fg getopts hash jobs kill newgrp pwd read true type ulimit umask unalias wait`

	// zsh 5.9, zsh -f in an environment of PATH alone, with zsh/parameter:
	// print -l ${(k)parameters}
	zshParameters = `
ARGC CDPATH COLUMNS CPUTYPE EGID EUID FIGNORE FPATH FUNCNEST GID HISTCHARS HISTCMD HISTSIZE HOME HOST IFS KEYBOARD_HACK KEYTIMEOUT
LINENO LINES LISTMAX LOGNAME MACHTYPE MAILCHECK MAILPATH MANPATH MODULE_PATH NULLCMD OLDPWD OPTARG OPTIND OSTYPE PATH PPID PROMPT
PROMPT2 PROMPT3 PROMPT4 PS1 PS2 PS3 PS4 PSVAR PWD RANDOM READNULLCMD SAVEHIST SECONDS SHLVL SPROMPT TIMEFMT TMPPREFIX
TRY_BLOCK_ERROR TRY_BLOCK_INTERRUPT TTY TTYIDLE UID USERNAME VENDOR WATCH WORDCHARS ZSH_ARGZERO ZSH_EVAL_CONTEXT
ZSH_EXECUTION_STRING ZSH_NAME ZSH_PATCHLEVEL ZSH_SUBSHELL ZSH_VERSION _ aliases argv builtins cdpath commands dirstack dis_aliases
dis_builtins dis_functions dis_functions_source dis_galiases dis_patchars dis_reswords dis_saliases fignore fpath funcfiletrace
funcsourcetrace funcstack functions functions_source functrace galiases histchars history historywords jobdirs jobstates jobtexts
keymaps mailpath manpath module_path modules nameddirs options parameters patchars path pipestatus prompt psvar reswords saliases
signals status termcap terminfo userdirs usergroups watch widgets zsh_eval_context zsh_scheduled_events`

	// The variables with a special meaning to bash, dash or POSIX (bash(1), dash(1): Shell
	// Variables), except those of zsh.
	otherParameters = `
BASHOPTS BASHPID CHILD_MAX COPROC DIRSTACK ENV EPOCHREALTIME EPOCHSECONDS EXECIGNORE FCEDIT FUNCNAME GLOBIGNORE GROUPS HOSTFILE
HOSTNAME HOSTTYPE IGNOREEOF INPUTRC INSIDE_EMACS MAIL MAPFILE OPTERR POSIXLY_CORRECT PROMPT_COMMAND PROMPT_DIRTRIM PS0 REPLY SHELLOPTS
SRANDOM STTY TIMEFORMAT TMOUT`
)

var (
	// reserved returns the reserved words, each with the shells that have it.
	reserved = sync.OnceValue(func() map[string]Shells {
		return index(map[string]Shells{bashReserved: Sh | Bash, zshReserved: Zsh})
	})
	// ownCommands returns the commands that are no programs, each with the shells that have it.
	ownCommands = sync.OnceValue(func() map[string]Shells {
		return index(map[string]Shells{
			bashBuiltins: Sh | Bash, dashBuiltins: Sh, busyboxBuiltins: Sh, posixBuiltins: All, zshBuiltins: Zsh,
			bashReserved: Sh | Bash, zshReserved: Zsh,
		})
	})
	// parameters returns the variables with a special meaning to one of the shells.
	parameters = sync.OnceValue(func() map[string]Shells {
		return index(map[string]Shells{zshParameters: All, otherParameters: All})
	})
)

func index(lists map[string]Shells) map[string]Shells {
	all := map[string]Shells{}
	for list, shells := range lists {
		for _, name := range strings.Fields(list) {
			all[name] |= shells
		}
	}
	return all
}

// special reports whether setting a variable may do more than that in a shell.
func special(name string) bool {
	if parameters()[name] != 0 || name == "_" {
		return true
	}
	for _, head := range []string{"BASH", "COMP_", "HIST", "READLINE_", "ZSH", "ZLE"} {
		if strings.HasPrefix(name, head) {
			return true
		}
	}
	return false
}

// harmlessSpecial are variables of the shells that hold only text in all of them, for the
// programs that the shell starts.
var harmlessSpecial = map[string]bool{"HOME": true, "LANG": true, "PATH": true, "TERM": true}
