package programs

// Role is what a word of a command means to the program: the roles of the program
// files and of their schema.
type Role uint8

const (
	RoleText        Role = iota // only text
	RoleChanges                 // changes what the program does: not harmless
	RoleUnknown                 // not understood
	RoleReads                   // a path that is read
	RoleLists                   // a path whose name or listing is read; a file that holds a list of paths is RoleReads
	RoleWrites                  // a path that is written
	RoleMakes                   // a folder that is created
	RoleDeletes                 // a path that is deleted
	RoleMoves                   // a path that is read and deleted
	RoleInto                    // the target of a copy or a move: a file or a folder
	RoleLink                    // the target of a link
	RoleConnects                // a URL or host that is read from
	RoleSends                   // a URL or host that is sent to
	RoleData                    // data that is sent: text, or @file
	RoleExecutes                // a command line
	RoleCommand                 // the first word of a command that follows
	RoleChdir                   // the folder the program runs in
	RoleRef                     // a revision, or a path of the repository
	RoleRemote                  // a remote's name or URL
	RoleRefspec                 // what is pushed: + and : mean more
	RolePackage                 // a Go package, with @version fetched from elsewhere
	RoleSed                     // a sed script
	RoleAwk                     // an awk program
	RoleGitFormat               // a format of git, of which some parts check signatures
	RoleGitSort                 // a key by which git sorts: a field of such a format
	RoleColumns                 // columns of ps, of which some hold more than a process
	RoleGlobs                   // which names a search goes into
	RoleTypes                   // which types of files a search goes into
	RoleNumber                  // text that is a number
	RoleGuarded                 // text, unless it begins with @ or names %output
	RoleUnfetched               // text, unless it is an address
	RoleObject                  // an object file, or an archive of them, that is read
	RoleFormat                  // text that begins with +; anything else changes something
	RoleScript                  // a script that an interpreter runs
	RoleInline                  // code that an interpreter runs
	RoleModule                  // a module that an interpreter runs; the words after it are its own
	RoleDownload                // writes the last part of each URL
	RoleAssign                  // NAME=value or names of shell variables
	RoleMakeTarget              // a target of a makefile, or a variable for it
	RoleSources                 // a file that is read, unless it begins with @: then it holds options
	RoleViewed                  // a file that is read, unless it begins with +: then it is a command
	RoleFromTop                 // a file that is read, which git takes from the top of the repository
	RoleMatched                 // a file that is read; a pattern is one for the program
	RoleCharset                 // the name of a character set; with a slash in it, a file that is read
	RoleSocket                  // a socket: PROTOCOL@HOST:PORT, or as an operand a file whose name is read
	RoleSuffix                  // what the name of a copy of each written file ends with
	RoleBegins                  // the beginning of names of files that are written
	RoleDatabase                // a file that is read, unless it begins with file: then it is an address
	RoleName                    // a name: no path, no address, and no file of that name
	RoleRepoName                // OWNER/NAME, or HOST/OWNER/NAME
	RoleRunnerWords             // words for a test runner
	RoleLoads                   // a file or folder of code or settings that the program obeys
	RoleTool                    // a program that is run by its name
	RoleTarget                  // a target of the project's own files; the words after it are its own
	RoleArchive                 // an archive that is read, or written
	RolePacks                   // a file that is replaced by its packed or unpacked form
	RoleUnpackTo                // the folder that an archive is unpacked to
	RolePlain                   // text; with = in it, it changes something
	RoleMount                   // a folder that a container sees
	RoleCopies                  // a path, or HOST:PATH, that is read
	RoleCopiesInto              // the target of such a copy
	RoleSpec                    // a package of a registry, or an address or path of one
	RoleHost                    // a host, or USER@HOST
	RoleMethod                  // the method of a request
	RoleField                   // a parameter of a request, which makes it one that sends
	RoleEndpoint                // a part of an address, or a full one
	RoleImage                   // a container image, with or without its registry
	RoleGitConfig               // a setting of git's for one run
	RoleServerSQL               // SQL that a server runs
	RoleForm                    // a part of a form: NAME=VALUE, or NAME=@FILE
	RoleGoFlags                 // flags for the go compiler or linker
	RoleJQ                      // a jq program
	RoleYQ                      // a yq program
	RoleSQL                     // SQL that SQLite runs
)

// roleNames are the roles by their names in the program files.
var roleNames = map[string]Role{
	"text": RoleText, "harmless": RoleText, "changes": RoleChanges, "unknown": RoleUnknown, "reads": RoleReads,
	"lists": RoleLists, "writes": RoleWrites, "makes": RoleMakes, "deletes": RoleDeletes, "moves": RoleMoves, "into": RoleInto,
	"link": RoleLink, "connects": RoleConnects, "sends": RoleSends, "data": RoleData,
	"executes": RoleExecutes, "command": RoleCommand, "chdir": RoleChdir, "ref": RoleRef,
	"remote": RoleRemote, "refspec": RoleRefspec, "package": RolePackage, "sed": RoleSed, "awk": RoleAwk,
	"git_format": RoleGitFormat, "git_sort": RoleGitSort, "columns": RoleColumns, "globs": RoleGlobs, "types": RoleTypes,
	"number": RoleNumber, "guarded_text": RoleGuarded, "unfetched": RoleUnfetched, "object": RoleObject, "format": RoleFormat, "script": RoleScript, "inline": RoleInline, "module": RoleModule,
	"download": RoleDownload, "assigns": RoleAssign,
	"target": RoleTarget, "tool": RoleTool, "loads": RoleLoads, "runner_words": RoleRunnerWords, "sources": RoleSources, "viewed": RoleViewed, "from_top": RoleFromTop, "matched": RoleMatched, "charset": RoleCharset, "socket": RoleSocket, "suffix": RoleSuffix, "begins": RoleBegins, "database": RoleDatabase, "name": RoleName, "repository": RoleRepoName, "make_target": RoleMakeTarget, "archive": RoleArchive, "unpack_to": RoleUnpackTo, "plain": RolePlain, "packs": RolePacks, "mount": RoleMount, "copies": RoleCopies,
	"copies_into": RoleCopiesInto, "package_spec": RoleSpec, "host": RoleHost, "method": RoleMethod, "field": RoleField,
	"server_sql": RoleServerSQL, "form": RoleForm, "go_flags": RoleGoFlags,
	"endpoint": RoleEndpoint, "image": RoleImage, "git_config": RoleGitConfig, "jq": RoleJQ, "yq": RoleYQ, "sql": RoleSQL,
}
