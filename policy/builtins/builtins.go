// Package builtins says which builtins of OPA policies may call.
package builtins

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// allowed are the builtins that policies may call: pure functions of
// their arguments whose running time is bounded by the size of the input. It is
// an allow-list, so a newer OPA does not add builtins unnoticed. Left out on
// purpose:
//   - those with side effects, or that differ from call to call: http.send, net.lookup_ip_addr,
//     opa.runtime, rand.intn, uuid.rfc4122, time.now_ns (there is input.now), trace,
//     io.jwt.*, crypto.x509.*, providers.aws.*;
//   - those that a deadline cannot stop: bits.lsh (33 s past 50 ms), json.match_schema, numbers.range,
//     net.cidr_expand, strings.render_template, regex.globs_match, regex.template_match,
//     graphql.*, rego.parse_module, yaml.*, units.*;
//   - deprecated ones: any, all, re_match, set_diff, cast_*.
var allowed = []string{
	"abs", "and", "array.concat", "array.flatten", "array.reverse", "array.slice", "assign",
	"base64.decode", "base64.encode", "base64.is_valid", "base64url.decode", "base64url.encode",
	"bits.and", "bits.negate", "bits.or", "bits.rsh", "bits.xor",
	"ceil", "concat", "contains", "count", "crypto.sha256", "div",
	"endswith", "eq", "equal", "floor", "format_int",
	"glob.match", "glob.quote_meta", "graph.reachable", "gt", "gte", "hex.decode", "hex.encode",
	"indexof", "indexof_n", "internal.member_2", "internal.member_3",
	"internal.template_string", "internal.test_case", "intersection",
	"is_array", "is_boolean", "is_null", "is_number", "is_object", "is_set", "is_string",
	"json.filter", "json.is_valid", "json.marshal", "json.patch", "json.remove", "json.unmarshal",
	"lower", "lt", "lte", "max", "min", "minus", "mul", "neq",
	"net.cidr_contains", "net.cidr_contains_matches", "net.cidr_intersects", "net.cidr_is_valid",
	"object.filter", "object.get", "object.keys", "object.remove", "object.subset", "object.union", "object.union_n",
	"or", "plus", "product",
	"regex.find_n", "regex.is_valid", "regex.match", "regex.replace", "regex.split",
	"rego.metadata.chain", "rego.metadata.rule", "rem", "replace", "round",
	"semver.compare", "semver.is_valid", "sort", "split", "sprintf", "startswith",
	"strings.any_prefix_match", "strings.any_suffix_match", "strings.count", "strings.replace_n", "strings.reverse",
	"substring", "sum", "time.add_date", "time.clock", "time.date", "time.diff", "time.format",
	"time.parse_duration_ns", "time.parse_ns", "time.parse_rfc3339_ns", "time.weekday",
	"to_number", "trim", "trim_left", "trim_prefix", "trim_right", "trim_space", "trim_suffix", "type_name",
	"union", "upper", "uri.is_valid", "uri.parse", "urlquery.decode", "urlquery.encode", "walk",
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
		if slices.Contains(allowed, b.Name) || tests && (b.Name == "print" || b.Name == "internal.print") {
			caps.Builtins = append(caps.Builtins, b)
		}
	}
	return caps
}

// ParserOptions returns how policies are parsed.
func ParserOptions(caps *ast.Capabilities) ast.ParserOptions {
	return ast.ParserOptions{Capabilities: caps, ProcessAnnotation: true, RegoVersion: ast.RegoV1}
}
