// Package builtins says which builtins of OPA rules may call, and bounds what a call of
// one may take.
//
// OPA checks between the expressions of a rule whether the evaluation was cancelled, and
// never within one. A builtin whose result is not bounded by a small multiple of its
// operands could therefore take all memory in one step: a text that is replaced by itself
// in itself, a number with a thousand million digits, a pattern whose repetitions are
// written out. So each builtin on the list has a bound: an estimate of what the call takes,
// from above, which is made before the builtin is called. A call that would take too much
// ends the evaluation with an error.
package builtins

import (
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// allowed are the builtins that policies may call, with their bounds: pure functions of
// their arguments. It is an allow-list, so a newer OPA does not add builtins unnoticed.
// Left out on purpose:
//   - those with side effects, or that differ from call to call: http.send, net.lookup_ip_addr,
//     opa.runtime, rand.intn, uuid.rfc4122, time.now_ns (there is input.now), trace,
//     io.jwt.*, crypto.x509.*, providers.aws.*;
//   - those whose result nothing in their operands bounds: bits.lsh, json.match_schema, numbers.range,
//     net.cidr_expand, graph.reachable_paths, strings.render_template, regex.globs_match,
//     regex.template_match, graphql.*, rego.parse_module, yaml.*, units.*;
//   - deprecated ones: any, all, re_match, set_diff, cast_*.
var allowed = map[string]bound{
	// What they return is one of the operands, a part of one, or of constant size, and
	// they look at each byte or member of the operands a few times at most.
	"base64.is_valid": plain, "contains": plain, "count": plain, "crypto.sha256": plain, "endswith": plain,
	"internal.test_case": plain, "is_array": plain, "is_boolean": plain, "is_null": plain, "is_number": plain,
	"is_object": plain, "is_set": plain, "is_string": plain, "json.is_valid": plain, "net.cidr_contains": plain,
	"net.cidr_intersects": plain, "net.cidr_is_valid": plain, "object.get": plain,
	"rego.metadata.chain": plain, "rego.metadata.rule": plain, "semver.is_valid": plain,
	"startswith": plain, "strings.count": plain, "to_number": plain, "trim_prefix": plain, "trim_space": plain,
	"trim_suffix": plain, "type_name": plain, "uri.is_valid": plain,

	// Comparisons: of values that hold one another many times.
	"assign": compare(0), "eq": compare(0), "equal": compare(0), "neq": compare(0), "gt": compare(0), "gte": compare(0), "lt": compare(0),
	"lte": compare(0), "internal.member_2": compare(0), "internal.member_3": compare(1), "max": compare(0), "min": compare(0),
	"object.subset": subset, "sort": members(32).and(compare(0)),

	// Numbers.
	"abs": numbers, "bits.and": numbers, "bits.negate": numbers, "bits.or": numbers, "bits.rsh": numbers,
	"bits.xor": numbers, "ceil": numbers, "div": numbers, "floor": numbers, "format_int": numbers,
	"minus": bound(numbers).and(sets), "mul": numbers, "plus": numbers, "product": product, "rem": numbers, "round": numbers, "sum": numbers,
	"time.add_date": numbers, "time.clock": numbers, "time.date": numbers, "time.diff": numbers,
	"time.format": timeFormat, "time.parse_duration_ns": plain, "time.parse_ns": plain, "time.parse_rfc3339_ns": plain,
	"time.weekday": numbers,

	// Collections.
	"and": sets, "or": sets, "intersection": union, "union": union,
	"array.concat": members(256), "array.flatten": flatten, "array.reverse": members(256), "array.slice": members(24),
	"graph.reachable": reachable, "json.filter": edit, "json.patch": edit, "json.remove": edit,
	"net.cidr_contains_matches": products, "object.filter": edit, "object.keys": members(128), "object.remove": edit,
	"object.union": edit, "object.union_n": edit, "walk": walk,

	// Texts.
	"base64.decode": texts(2), "base64.encode": texts(2), "base64url.decode": texts(3), "base64url.encode": texts(2),
	"concat": concat, "glob.match": globMatch, "glob.quote_meta": texts(3), "hex.decode": texts(2), "hex.encode": texts(3),
	"indexof": search, "indexof_n": search, "internal.template_string": writeOut, "json.marshal": marshal,
	"json.unmarshal": unmarshal, "lower": texts(4), "regex.find_n": regexFind, "regex.is_valid": regexParse, "regex.match": regexMatch,
	"regex.replace": regexReplace, "regex.split": regexFind, "replace": replace, "semver.compare": plain,
	"split": split, "sprintf": sprintf, "strings.any_prefix_match": anyMatch, "strings.any_suffix_match": anyMatch,
	"strings.replace_n": replaceN, "strings.reverse": texts(2), "substring": texts(6), "trim": trim, "trim_left": trim,
	"trim_right": trim, "upper": texts(4), "uri.parse": texts(8), "urlquery.decode": texts(3), "urlquery.encode": texts(4),
}

// inTests are the builtins that only tests may call besides.
var inTests = map[string]bound{"print": plain, "internal.print": printed}

// OPA keeps its builtins in tables of the process, so they are replaced there once.
func init() {
	for _, table := range []map[string]bound{allowed, inTests} {
		for name, b := range table {
			original := topdown.GetBuiltin(name)
			if original == nil {
				continue // the compiler replaces it
			}
			if name == "graph.reachable" {
				original = reach
			}
			topdown.RegisterBuiltinFunc(name, b.limit(name, original))
			ast.BuiltinMap[name].CanSkipBctx = false // it has what the evaluation may take
		}
	}
}

// Capabilities returns what OPA lets policies use. Tests may also print; OPA
// drops print from a policy.
func Capabilities(tests bool) *ast.Capabilities {
	all := ast.CapabilitiesForThisVersion(ast.CapabilitiesRegoVersion(ast.RegoV1))
	caps := &ast.Capabilities{
		FutureKeywords: all.FutureKeywords,
		Features:       all.Features, // including rego_v1 and the imports of rego.v1 and rego.v2
		AllowNet:       []string{},   // empty, not nil: no remote schema is fetched
	}
	for _, b := range all.Builtins {
		_, ok := allowed[b.Name]
		if !ok && tests {
			_, ok = inTests[b.Name]
		}
		if ok {
			caps.Builtins = append(caps.Builtins, b)
		}
	}
	return caps
}

// ParserOptions returns how policies are parsed.
func ParserOptions(caps *ast.Capabilities) ast.ParserOptions {
	return ast.ParserOptions{Capabilities: caps, ProcessAnnotation: true, RegoVersion: ast.RegoV1}
}
