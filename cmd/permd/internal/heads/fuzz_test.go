package heads

import (
	"bytes"
	"slices"
	"strconv"
	"testing"
)

// FuzzRead: what is read of somebody else's lines is read of each line by itself, and only of
// those about the journal.
func FuzzRead(f *testing.F) {
	const path = "/j"
	line := func(seq string) string {
		return `{"` + fieldID + `":"` + MessageID + `","` + fieldPath + `":"` + path + `","` + fieldChain + `":"c","` + fieldHash + `":"h","` + fieldSeq + `":"` + seq + `","` + fieldEntries + `":"2","_UID":"7"}`
	}
	f.Add([]byte(line("1")+"\n"+line("2")), 7)
	f.Add([]byte(line("1")+"\n\n{}\n"), -1)
	f.Add([]byte(line("x")), 8)
	f.Fuzz(func(t *testing.T, data []byte, uid int) {
		list, err := Read(bytes.NewReader(data), path, uid)
		if err != nil {
			if list != nil {
				t.Errorf("%+v with an error", list)
			}
			return
		}
		twice, err := Read(bytes.NewReader(append(append(bytes.Clone(data), '\n'), data...)), path, uid)
		if err != nil || !slices.Equal(twice, append(slices.Clone(list), list...)) {
			t.Errorf("%+v once, and twice %+v, %v", list, twice, err)
		}
		if len(list) > 0 && (!bytes.Contains(data, []byte(strconv.FormatInt(list[0].Seq, 10))) || len(list) > bytes.Count(data, []byte("{"))) {
			t.Errorf("%+v of %q", list, data)
		}
	})
}
