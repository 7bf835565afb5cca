# Credentials of clouds, clusters and registries stay with the programs that use them.
package permd.org

import rego.v2

# Programs that manage clouds, clusters and machines, and hold credentials for them.
infrastructure := {
	"ansible", "ansible-playbook", "argocd", "aws", "az", "doctl", "eksctl", "flux", "gcloud", "gh", "glab", "gsutil", "heroku",
	"helm", "kubectl", "oc", "op", "pulumi", "terraform", "tofu", "vault",
}

# METADATA
# title: No reading of cloud credentials
# custom:
#   id: org.no-cloud-credentials
deny contains "credentials of clouds and clusters are not for agents" if {
	input.effect.kind in {"read", "write", "delete"}
	not own_use
	credentials
}

# What a program always reads, to do its work: kubectl its settings. What it prints of them is
# another rule's.
own_use if {
	input.effect.kind == "read"
	input.effect.by.inherent
}

# Secrets outside of the project, whatever they are for.
credentials if {
	"secret" in input.effect.tags
	not "in_project" in input.effect.tags
}

# And folders of which not every file is one, by their names.
credentials if {
	regex.match(
		`(?i)/(\.aws|\.azure|\.kube|\.oci|\.bluemix|\.docker|\.terraform\.d|\.pulumi|\.vault-token|\.netrc|\.git-credentials|\.config/(gcloud|doctl|gh|glab-cli|op|rclone|hub))(/|$)`,
		input.effect.path,
	)
	not plain_project_file
}

plain_project_file if {
	"in_project" in input.effect.tags
	not "secret" in input.effect.tags
}

# METADATA
# title: No printing of tokens
# custom:
#   id: org.no-tokens
deny contains "prints credentials of a cloud or a service" if {
	input.effect.kind == "run"
	input.effect.program in infrastructure
	"secret" in input.effect.tags
}

# METADATA
# title: No other programs of these names
# description: permd knows programs by name in the system's folders alone.
# custom:
#   id: org.no-other-programs
deny contains "a program of that name, of which nothing is known" if {
	input.effect.kind == "run"
	input.effect.known == false
	parts := split(lower(input.effect.program), "/")
	trim_suffix(parts[count(parts) - 1], ".exe") in (infrastructure | {"git", "hub"})
	not input.effect.program in infrastructure
}

# METADATA
# title: The cloud's metadata service is not for agents
# custom:
#   id: org.no-metadata
deny contains "the metadata service hands out credentials of this machine" if {
	input.effect.kind == "connect"
	"metadata_service" in input.effect.tags
}
