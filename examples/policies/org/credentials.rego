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
	regex.match(
		`(?i)/(\.aws|\.azure|\.kube|\.oci|\.bluemix|\.docker|\.terraform\.d|\.pulumi|\.vault-token|\.netrc|\.git-credentials|\.config/(gcloud|doctl|gh|glab-cli|op|rclone|hub))(/|$)`,
		input.effect.path,
	)
}

# METADATA
# title: No searching of a whole home
# description: Credentials are below it, whatever folder holds them.
# custom:
#   id: org.no-home-search
deny contains "reads a whole home, with the credentials in it" if {
	input.effect.kind in {"read", "delete"}
	input.effect.recursive == true
	"secret" in input.effect.tags
	input.effect.home_path in {".", ".config", ".local", ".local/share"}
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
# title: The cloud's metadata service is not for agents
# custom:
#   id: org.no-metadata
deny contains "the metadata service hands out credentials of this machine" if {
	input.effect.kind == "connect"
	"metadata_service" in input.effect.tags
}
