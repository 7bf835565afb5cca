// Package management connects permd with a control plane of OPA: it reads a file in
// OPA's own format (opa.yaml), and runs OPA's plugin manager with what that names: the
// clients of services, the download of bundles, the report of their status. It decides
// nothing, and knows no rules: bundles are handed to the caller.
package management
