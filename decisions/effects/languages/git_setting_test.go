package languages

import "testing"

func TestGitSetting(t *testing.T) {
	for _, setting := range []string{
		"color.ui=never", "core.pager=cat", "core.pager=", "pager.log=false", "core.quotePath=false", "core.editor=true", "commit.gpgsign=false", "core.fsmonitor=false",
		"advice.detachedHead=false", "init.defaultBranch=main",
	} {
		if !GitSetting(setting) {
			t.Errorf("%q is not harmless", setting)
		}
	}
	for _, setting := range []string{
		"core.pager=less", "core.pager", "core.pager=cat x", "core.editor=vi", "core.sshCommand=./x", "alias.x=!rm a", "core.hooksPath=/tmp", "diff.external=./x",
		"core.fsmonitor=./x", "core.fsmonitor", "protocol.ext.allow=always", "url.x.insteadOf=y", "credential.helper=!x", "filter.x.clean=y", "gpg.program=x",
		"http.proxy=x", "include.path=x", "core.attributesFile=x", "uploadpack.packObjectsHook=x", "push.default=matching", "remote.origin.url=x",
	} {
		if GitSetting(setting) {
			t.Errorf("%q is harmless", setting)
		}
	}
}
