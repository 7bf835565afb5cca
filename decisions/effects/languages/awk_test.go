package languages

import "testing"

// plainAwkPrograms are programs such as agents write.
var plainAwkPrograms = []string{
	`{print $1}`, `NR>=710 && NR<=716`, `NR>1 {print $2,$1}`, `BEGIN{printf "%+.1f%%", (y-x)/x*100}`, `/real/{printf "%ss ",$2}`,
	`NR>=26 && /^}/ {print "init ends: "NR; exit}`, `!/_test/`, `/^func write\(s rune\)/,/^}/`, `!seen[$0]++`, `{s+=$1} END{print s}`,
	`$3 !~ /_test\.go$/ && $3 !~ /testdata/ {a+=$1; d+=$2} END {printf "added %d  removed %d  net %+d\n", a, d, a-d}`,
	`$NF ~ /Claude$/ {print}`, `{for(i=1;i<=NF;i++){if($i=="allocs/op")a=$(i-1);if($i=="B/op")b=$(i-1)}print $1,b"B",a"allocs"}`,
	`{split($3,p,"/"); k=p[1]"/"p[2]; add[k]+=$1; del[k]+=$2} END {for (i in add) printf "%8d +  %8d -  %s\n", add[i], del[i], i}`,
	"# a comment with \" and ' and /\nBEGIN { x = 1 } # another\n$1 > 5 { print $2 }\n", `{ print ($1 > 5 ? "big" : "small") }`,
	`{ if ($1 > m) m = $1 } END { print m }`, `{ gsub(/[[:space:]]+/, " "); print }`, `{ print length($0) / 2, length }`,
	`function f(a, b) { return a / b }` + "\n" + `{ print f($1, $2) }`, `{ n = NR % 2; while (n-- > 0) { x = x "a" } print x }`,
	`{ a[NR] = $0 } END { for (i = NR; i > 0; i--) print a[i] }`, `BEGIN { RS = ""; FS = "\n" } { print $1 }`, `{ delete a[$1]; next } END { if ((1, 2) in a) print "y"; else print "n" }`,
	`/^Benchmark/{n=$1; v=$3+0; if(!(n in mn)||v<mn[n])mn[n]=v}`, `/a/ { print "\033[1m" $0 "\033[0m" }`, `length > 80`, `length($0) > 80 { print FILENAME ":" FNR ": " $0 }`,
	`{ do { i++ } while (i < 3); print substr($0, 1, 3) toupper($2) }`, `$1 == "a" || $2 ~ "b" { c++ } END { exit (c > 0) ? 1 : 0 }`,
	`/\) Enabled\(\) bool \{/,/^\}/`, `{$1=""; print $0}`, `NR==FNR{a[$1];next} $1 in a`, `{print "a > b | c"}`, `/a\/b/{print; f=1} f`, `BEGIN{while(i<3)print i++}`,
	`{ if (match($0, /[0-9]+/)) print substr($0, RSTART, RLENGTH) }`, `{printf("%s %s\n", $1, $2)}`, `/"/ { gsub(/"/, ""); print }`, `{ sub("#.*", ""); print }`,
	"NR==1,NR==5", "$1 ~ /x/ || $2 < 3 {s += $2} END {printf \"%d\\n\", s}", "{gsub(/a/, \"b\"); print toupper($0)}", "$3 ~ /a|b/ {s += $1}", "BEGIN {printf \"%d -> %d\", 1, 2}", "{if ($1 >= 2) print}",
	"{ if (($1 > 2) && ($2 > 3)) s += $2 } END { print (s > 9) }", "{print ($1 > 2)}", "1", "/[^]]/",
}

// harmfulAwkPrograms write, read or run something in at least one implementation,
// or are read differently by several.
var harmfulAwkPrograms = []string{
	"BEGIN { # \"\nprint \"x\" | \"sh\" # \"\n}", `{ print > "pwned" }`, `{ print $1 >> "pwned" }`, `BEGIN { print "touch pwned" | "sh" }`, `BEGIN { system("touch pwned") }`,
	`BEGIN { "touch pwned" | getline }`, `BEGIN { getline x < "canary" ; print x }`, `BEGIN { while ((getline line < ARGV[1]) > 0) print line }`, `BEGIN { print ENVIRON["X"] }`,
	`BEGIN { ARGV[1] = "canary"; ARGC = 2 } { print }`, "@include \"canary\"\n", `BEGIN { f = "system"; @f("touch pwned") }`, `BEGIN { print "x" |& "sh" }`,
	`{ print (1) > "pwned" }`, `{ print(1,2) > "pwned" }`, `{ print a[1 > "pwned"] }`, `BEGIN { printf "x" > "pwned" }`, `{ if (1) print "x" > "pwned" }`,
	`BEGIN { for (print "x" > "pwned"; i++ < 1; ) ; }`, `BEGIN { x = 1 /2; print "a" > "pwned" /1 }`, "BEGIN { x = \"a\\\nb\" }", `BEGIN { if (1) /"/; print "x" > "pwned" #"/` + "\n}",
	`BEGIN { PROCINFO["sorted_in"] = "f" }`, `BEGIN { SYMTAB["ENVIRON"] }`, `/[/]/ { print "x" > "pwned" } #/`, `/[]/]/ {print}`, `/[]\]/]/ {print}`, `/[[]/`, `BEGIN { x /= 2; print > "pwned" /1 }`,
	`BEGIN { a = awk::ENVIRON["X"] }`, `BEGIN { close("x") }`, `BEGIN { undefined("x") }`, "BEGIN { print \\\n> \"pwned\" }", "# \\\nBEGIN { system(\"x\") }", "BEGIN {\rprint > \"x\" }",
	`BEGIN { length / 1 > "pwned" / 2 }`, `BEGIN { print -v > "pwned" }`, `BEGIN { print a >= "pwned" }`, `func f() { } BEGIN { f() }`, `BEGIN { print _"x" }`, "BEGIN {", `{ print "x }`,
	`function system(x) { }`, `BEGIN { asort(a, b, "f") }`, `BEGIN { "x" getline }`, `BEGIN { x = "\x41" }`, "BEGIN { print \"x\"\n> \"pwned\" }",
	"{print | \"sh\"}", "\"id\" | getline", "getline < \"/etc/passwd\"", "{@f()}", "BEGIN{SYMTAB[\"AR\" \"GV\"]}", "{print ||| \"sh\"}", "BEGIN{for (k in ENVIRON) print k}", "{print |& \"x\"}",
	"/\"/ {print > \"x\"}", "{if (/}/) print > \"x\"}", "{print \"}\" > \"x\"}", "{x = \"\\\"\"; print > \"y\"}", "{ # \"\n print 1 > \"f\"\n}", "{for (; i < 1; print i > \"x\") i++}",
	"{ # (\n print 1 > \"x\" # )\n}", "{print(1)(2) > \"x\"}", "{x = \"a\\\\\"; print > \"y\"}", "{print \"a\" > (\"x\")}",
}

func TestAwk(t *testing.T) {
	for _, program := range plainAwkPrograms {
		if !Awk(program) {
			t.Errorf("%q is not plain", program)
		}
	}
	for _, program := range harmfulAwkPrograms {
		if Awk(program) {
			t.Errorf("%q is plain", program)
		}
	}
}
