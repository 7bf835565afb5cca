package builtins

import (
	"context"
	"maps"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/topdown/cache"

	"github.com/permd/permd/internal/testload"
)

// prelude are rules that the exploding ones use: 256 numbers, a text of 256 KiB, the same of
// other characters, an array of 64 Ki texts, and one that holds a text 2^40 times.
var prelude = `package permd.user

import rego.v2

many := split("` + strings.Repeat("x", 256) + `", "")
few := split("xxxxxxxxxxxxxxxx", "")
kilo := "` + strings.Repeat("x", 1024) + `"
mega := concat("", [kilo | some _ in many])
other := concat("", ["ä", mega])
escaped := concat("", ["a\u0001b+=&", mega])
ones := to_number(concat("", ["1" | some _ in many]))
hexes := concat("", ["aaaaaaaa" | some _ in list])
edges := {n: [m | some m, _ in many] | some n, _ in many}
list := [x | some x in many; some _ in many]
shape := {sprintf("%d %d", [i, j]) | some i, _ in many; some j, _ in few}
shape2 := {sprintf("%d-%d", [i, j]) | some i, _ in many; some j, _ in few}
map := {sprintf("%d %d", [i, j]): 1 | some i, _ in many; some j, _ in few}
map2 := {sprintf("%d-%d", [i, j]): 1 | some i, _ in many; some j, _ in few}
nested := x9
huge := json.unmarshal("1e9000")
x0 := [["x" | some _ in [1, 2]] | some _ in [1, 2]]
x1 := [x0 | some _ in [1, 2, 3, 4]]
x2 := [x1 | some _ in [1, 2, 3, 4]]
x3 := [x2 | some _ in [1, 2, 3, 4]]
x4 := [x3 | some _ in [1, 2, 3, 4]]
x5 := [x4 | some _ in [1, 2, 3, 4]]
x6 := [x5 | some _ in [1, 2, 3, 4]]
x7 := [x6 | some _ in [1, 2, 3, 4]]
x8 := [x7 | some _ in [1, 2, 3, 4]]
x9 := [x8 | some _ in many]
y9 := [x8 | some _ in many]
`

// exploding are rules, by the builtin that takes too much in them. Without its bound most
// take hundreds of megabytes, and the others do not end.
var exploding = map[string]string{
	// Values that hold others many times.
	"gt":                `nested > y9`,
	"gte":               `nested >= y9`,
	"lt":                `nested < y9`,
	"lte":               `nested <= y9`,
	"neq":               `nested != y9`,
	"internal.member_2": `nested in [y9]`,
	"internal.member_3": `(0, nested in [y9])`,
	"max":               `max([nested, y9])`,
	"min":               `min([nested, y9])`,
	"sort":              `sort([nested, y9])`,
	"object.subset":     `object.subset({"a": nested}, {"a": y9})`,
	"walk":              `{x | walk(nested, [[_, _, _, _, _, _, _, _, _, _, 1], x])}`,
	"json.marshal":      `json.marshal(nested)`,
	"json.patch":        `json.patch({"a": nested}, [{"op": "add", "path": "/a/0/0/0/0/0/0/0/0", "value": 1}])`,
	"json.filter":       `json.filter({"a": nested}, ["a/0/0/0/0/0/0/0"])`,
	"json.remove":       `json.remove({"a": nested}, ["a/0/0/0/0/0/0/0"])`,
	"object.filter":     `object.filter({"a": nested}, ["a"])`,
	"object.remove":     `object.remove({"a": nested}, ["b"])`,
	"object.union":      `[object.union(map, map2) | some _ in many]`,
	"object.union_n":    `[object.union_n([map, map2]) | some _ in many]`,

	// Numbers.
	"abs":            `abs(huge)`,
	"ceil":           `ceil(huge)`,
	"floor":          `floor(huge)`,
	"round":          `round(huge)`,
	"plus":           `huge + 1`,
	"minus":          `huge - 1`,
	"mul":            `huge * 3`,
	"div":            `huge / 3`,
	"rem":            `huge % 7`,
	"sum":            `sum([huge, 1])`,
	"product":        `product([ones | some _ in many; some _ in few])`,
	"format_int":     `format_int(huge, 16)`,
	"bits.and":       `bits.and(huge, huge)`,
	"bits.or":        `bits.or(huge, 1)`,
	"bits.xor":       `bits.xor(huge, 1)`,
	"bits.negate":    `bits.negate(huge)`,
	"bits.rsh":       `bits.rsh(huge, 1)`,
	"time.add_date":  `time.add_date(huge, 1, 1, 1)`,
	"time.clock":     `time.clock(huge)`,
	"time.date":      `time.date(huge)`,
	"time.diff":      `time.diff(huge, 1)`,
	"time.weekday":   `time.weekday(huge)`,
	"time.format":    `[time.format([1, "UTC", replace(mega, "xxxx", "Jan ")]) | some _ in many]`,
	"time.parse_ns":  `[x | some _ in many; x := time.parse_ns(mega, mega)]`,
	"semver.compare": `[semver.compare(mega, mega) | some _ in many]`,

	// Collections.
	"and":                       `[r | some _ in many; r := shape & shape2]`,
	"or":                        `[r | some _ in many; r := shape | shape2]`,
	"intersection":              `[intersection({shape, shape2}) | some _ in many; some _ in many]`,
	"union":                     `[union({shape, shape2}) | some _ in many]`,
	"array.concat":              `[array.concat(list, list) | some _ in many]`,
	"array.flatten":             `[array.flatten([list, list]) | some _ in many]`,
	"array.reverse":             `[array.reverse(list) | some _ in many]`,
	"array.slice":               `[array.slice(list, 1, 65000) | some _ in many]`,
	"object.keys":               `[object.keys(map) | some _ in many]`,
	"net.cidr_contains_matches": `net.cidr_contains_matches(["10.0.0.0/8" | some _ in list], ["10.0.0.1" | some _ in list])`,
	"graph.reachable":           `[graph.reachable(edges, {1}) | some _ in many; some _ in many]`,
	"strings.any_prefix_match":  `strings.any_prefix_match("x", [mega, kilo])`,
	"strings.any_suffix_match":  `strings.any_suffix_match("x", [mega, kilo])`,

	// Texts.
	"concat":                   `[concat(mega, many) | some _ in many]`,
	"replace":                  `replace(mega, "x", mega)`,
	"strings.replace_n":        `strings.replace_n({"x": mega}, mega)`,
	"split":                    `[split(mega, "") | some _ in many]`,
	"sprintf":                  `sprintf("%1000000d%1000000d%1000000d%1000000d%1000000d%1000000d%1000000d%1000000d%1000000d%1000000d%1000000d%1000000d%1000000d%1000000d%1000000d%1000000d%1000000d", [1])`,
	"internal.template_string": `[$"{nested}" | some _ in many]`,
	"indexof":                  `indexof(other, concat("", [other, "y"]))`,
	"indexof_n":                `[indexof_n(mega, "x") | some _ in many]`,
	"substring":                `[substring(other, 1, 100000) | some _ in many]`,
	"strings.reverse":          `[strings.reverse(mega) | some _ in many]`,
	"lower":                    `[lower(upper(mega)) | some _ in many]`,
	"upper":                    `[upper(mega) | some _ in many]`,
	"trim":                     `trim(mega, other)`,
	"trim_left":                `trim_left(mega, other)`,
	"trim_right":               `trim_right(mega, other)`,
	"glob.match":               `glob.match(mega, ["/"], "x")`,
	"glob.quote_meta":          `[glob.quote_meta(mega) | some _ in many]`,
	"base64.decode":            `[base64.decode(mega) | some _ in many]`,
	"base64.encode":            `[base64.encode(mega) | some _ in many]`,
	"base64url.decode":         `[base64url.decode(mega) | some _ in many]`,
	"base64url.encode":         `[base64url.encode(mega) | some _ in many]`,
	"hex.decode":               `[hex.decode(hexes) | some _ in many]`,
	"hex.encode":               `[hex.encode(mega) | some _ in many]`,
	"json.unmarshal":           `json.unmarshal(concat("", ["[", replace(mega, "xx", "1,"), "1]"]))`,
	"uri.parse":                `[uri.parse(mega) | some _ in many]`,
	"urlquery.decode":          `[urlquery.decode(mega) | some _ in many]`,
	"urlquery.encode":          `[urlquery.encode(escaped) | some _ in many]`,

	// Patterns.
	"regex.match":    `regex.match("` + strings.Repeat("a{1000}", 40) + `", "x")`,
	"regex.is_valid": `regex.is_valid(mega)`,
	"regex.split":    `regex.split("", mega)`,
	"regex.find_n":   `regex.find_n("x", mega, -1)`,
	"regex.replace":  `regex.replace(mega, "(x)(x)", mega)`,
}

// quoting are those whose errors quote their operands, and are reported before the bound.
var quoting = map[string]bool{"semver.compare": true, "time.parse_ns": true}

// maxExplosion is how much the heap may grow meanwhile.
const maxExplosion = 64 << 20

// TestExplosions: each builtin with a bound ends an evaluation in which it would take too
// much, at once and before it has taken it.
func TestExplosions(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs rules up to their bounds")
	}
	for name, b := range allowed {
		_, ok := exploding[name]
		switch {
		case b != nil && !ok && name != "assign" && name != "eq" && name != "equal": // the compiler replaces them
			t.Errorf("%s is not tested", name)
		}
	}
	for name := range exploding {
		if _, ok := allowed[name]; !ok {
			t.Errorf("%s is not allowed", name)
		}
	}
	names := slices.Sorted(maps.Keys(exploding))
	for _, name := range testload.Sample(t, len(names)/6, names) {
		rule := exploding[name]
		t.Run(name, func(t *testing.T) {
			compiled := compiledRule(t, rule)
			before := heap()
			grown, err := evaluate(t, compiled, nil)
			switch {
			case err == nil:
				t.Errorf("it was not ended")
			case !strings.Contains(err.Error(), name+" would take too much") && !quoting[name]:
				t.Errorf("it was ended for another reason: %.200s", err)
			}
			if grown > maxExplosion {
				t.Errorf("the heap grew by %d MiB from %d", grown>>20, before>>20)
			}
		})
	}
}

// untimed has the budget of an evaluation and no time, so that only a bound ends it however
// busy the machine is.
type untimed struct{ spent int64 }

func (*untimed) Cancel()         {}
func (*untimed) Cancelled() bool { return false }

func (u *untimed) Spend(bytes int64) bool {
	u.spent += bytes
	return u.spent <= 32<<20
}

// compiledRule compiles the prelude with a rule.
func compiledRule(t *testing.T, rule string) *ast.Compiler {
	t.Helper()
	module, err := ast.ParseModuleWithOpts("a.rego", prelude+"deny contains \"x\" if {\n\tgot := "+rule+"\n\tis_null(got)\n}\n", ParserOptions(Capabilities(false)))
	if err != nil {
		t.Fatal(err)
	}
	c := ast.NewCompiler().WithCapabilities(Capabilities(false)).WithDefaultRegoVersion(ast.RegoV1)
	if c.Compile(map[string]*ast.Module{"a.rego": module}); c.Failed() {
		t.Fatal(c.Errors)
	}
	return c
}

// evaluate evaluates the rule as package policy does, and gives its value to a function. It
// returns by how much the heap grew meanwhile, at most.
func evaluate(t *testing.T, c *ast.Compiler, each func(ast.Set)) (grown uint64, err error) {
	t.Helper()
	store := inmem.New()
	txn, err := store.NewTransaction(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Abort(t.Context(), txn)
	config, err := cache.ParseCachingConfig(nil)
	if err != nil {
		t.Fatal(err)
	}
	queries := c.QueryCompiler()
	body, err := queries.Compile(ast.MustParseBody("data.permd.user.deny = x"))
	if err != nil {
		t.Fatal(err)
	}
	q := topdown.NewQuery(body).WithCompiler(c).WithQueryCompiler(queries).WithStore(store).WithTransaction(txn).
		WithStrictBuiltinErrors(true).WithCancel(new(untimed)).
		WithInterQueryBuiltinValueCache(NewCache(cache.NewInterQueryValueCache(context.Background(), config)))
	stop, most := make(chan struct{}), make(chan uint64)
	before := heap()
	go func() {
		highest := before
		for {
			highest = max(highest, heap())
			select {
			case <-stop:
				most <- max(highest, heap())
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	err = q.Iter(t.Context(), func(r topdown.QueryResult) error {
		if set, ok := r["x"].Value.(ast.Set); ok && each != nil {
			each(set)
		}
		return nil
	})
	close(stop)
	return <-most - before, err
}

// heap returns the size of what is on the heap.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// leftOut are the builtins of OPA that policies cannot call. A builtin that a newer OPA has
// is in neither list, and is looked at before it comes into one of them.
const leftOut = `
all any cast_array cast_boolean cast_null cast_object cast_set cast_string re_match set_diff net.cidr_overlap
base64url.encode_no_pad json.marshal_with_options regex.find_all_string_submatch_n strings.split_n
urlquery.decode_object urlquery.encode_object uuid.parse
bits.lsh graph.reachable_paths json.match_schema json.verify_schema net.cidr_expand net.cidr_merge numbers.range numbers.range_step
regex.globs_match regex.template_match rego.parse_module strings.render_template units.parse units.parse_bytes
graphql.is_valid graphql.parse graphql.parse_and_verify graphql.parse_query graphql.parse_schema graphql.schema_is_valid
yaml.is_valid yaml.marshal yaml.unmarshal
http.send net.lookup_ip_addr opa.runtime rand.intn time.now_ns trace uuid.rfc4122 providers.aws.sign_req
crypto.hmac.equal crypto.hmac.md5 crypto.hmac.sha1 crypto.hmac.sha256 crypto.hmac.sha512 crypto.md5 crypto.sha1
crypto.parse_private_keys crypto.x509.parse_and_verify_certificates crypto.x509.parse_and_verify_certificates_with_options
crypto.x509.parse_certificate_request crypto.x509.parse_certificates crypto.x509.parse_keypair crypto.x509.parse_rsa_private_key
io.jwt.decode io.jwt.decode_verify io.jwt.encode_sign io.jwt.encode_sign_raw io.jwt.verify_eddsa io.jwt.verify_es256
io.jwt.verify_es384 io.jwt.verify_es512 io.jwt.verify_hs256 io.jwt.verify_hs384 io.jwt.verify_hs512 io.jwt.verify_ps256
io.jwt.verify_ps384 io.jwt.verify_ps512 io.jwt.verify_rs256 io.jwt.verify_rs384 io.jwt.verify_rs512
`

// TestReviewed: somebody has looked at each builtin of this version of OPA.
func TestReviewed(t *testing.T) {
	left := map[string]bool{}
	for _, name := range strings.Fields(leftOut) {
		left[name] = true
	}
	offered := map[string]bool{}
	for _, b := range Capabilities(false).Builtins {
		offered[b.Name] = true
	}
	for _, b := range ast.Builtins {
		_, ok := allowed[b.Name]
		_, test := inTests[b.Name]
		if ok != offered[b.Name] {
			t.Errorf("%s: allowed %v, offered %v", b.Name, ok, offered[b.Name])
		}
		if !ok && !test && !left[b.Name] {
			t.Errorf("nobody has looked at %s: give it a bound, or leave it out", b.Name)
		}
		if ok && left[b.Name] {
			t.Errorf("%s is both allowed and left out", b.Name)
		}
	}
}

// TestReachable: the nodes are those that OPA's own function reaches.
func TestReachable(t *testing.T) {
	for _, tt := range []struct{ call, want string }{
		{`graph.reachable({"a": ["b", "c"], "b": {"d"}, "c": [], "e": ["a"], "d": ["b"]}, ["a"])`, `{"a", "b", "c", "d"}`},
		{`graph.reachable({"a": ["missing"], "b": []}, {"a", "b", "other"})`, `{"a", "b"}`},
		{`graph.reachable(json.unmarshal("{\"a\": {\"b\": 1}, \"b\": []}"), ["a"])`, `{"a"}`},
		{`graph.reachable({}, [])`, `set()`},
	} {
		c := compiledRule(t, "null\n\t"+tt.call+" == "+tt.want)
		fired := 0
		if _, err := evaluate(t, c, func(s ast.Set) { fired = s.Len() }); err != nil || fired != 1 {
			t.Errorf("%s is not %s: %v", tt.call, tt.want, err)
		}
	}
}
