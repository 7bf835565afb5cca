package languages

import "testing"

func TestGitFormat(t *testing.T) {
	for _, format := range []string{
		"%H", "%h %s", "format:%an <%ae>%n%b", "tformat:%C(yellow)%h%Creset %<(20,trunc)%s", "oneline", "", "%(refname:short) %(objectname)", "%x00%H", "%+b%- d", "%(trailers:key=A)", "%d %ar %C(auto)",
		"%(*objecttype)%(if)%(HEAD)%(then)x%(else)y%(end)", "%as|%cs", "%00", "%gd: %gs", "format: nothing", "%%G?", "%w(72,4)%b", "%(describe)", "%cI %ct", "%(trailers:key=A,separator=%x2C )", "%+(trailers:separator=%x2C)", "100%% %h", "%%%h", "%(raw:size)", "%(*raw:size)",
	} {
		if !GitFormat(format) {
			t.Errorf("%q is not plain", format)
		}
	}
	for _, format := range []string{
		"%G?", "%GK", "%+G?", "% GS", "%- G?", "%h %GG", "%(signature)", "%(*signature)", "%(signature:key)", "%C(%G?)", "alias", "format:%G?", "%(contents:signature)%G?", "%(unknown)", "%", "%(", "%Z", "%<(%G?)", "%%%G?", "%(trailers:separator=%G?)",
		"% %G?", "%+%G?", "%-%G?", "% %%G?", "%- %G?", "%h% %GK", "%+%", "%-+%(signature)", "%(raw)", "%(*raw)", "%(raw:x)",
	} {
		if GitFormat(format) {
			t.Errorf("%q is plain", format)
		}
	}
}
