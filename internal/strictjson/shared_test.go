package strictjson

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
)

// TestUnmarshalShared compares both ways of decoding, and looks where raw values are.
func TestUnmarshalShared(t *testing.T) {
	type inner struct {
		Raw  Value  `json:"raw"`
		Text string `json:"text"`
	}
	type outer struct {
		Raw   Value   `json:"raw"`
		Text  string  `json:"text"`
		Inner *inner  `json:"inner"`
		List  []inner `json:"list"`
		Raws  []Value `json:"raws"`
	}
	for _, in := range []string{
		`{}`,
		`{"raw":null,"inner":null,"list":null,"raws":null}`,
		`{"raw":{"a":[1,2.50,"x"]},"text":"t"}`,
		` { "raw" :  [ 1 , { "b" : null } ]  , "list" : [ { "raw" : "x" } , {"text":"y"}, {"raw":true} ] } `,
		`{"inner":{"raw":1e400,"text":"é"},"raws":["a",{},null,[],-0]}`,
		`{"text":7}`,
		`{"inner":{"RAW":1}}`,
		`{"raw":{"RAW":1,"raw":2}}`,
		`{"raw":1,"raw":2}`,
		`{"raw":`,
	} {
		data := Value(in)
		var shared, copied outer
		err, want := UnmarshalShared(data, &shared), Unmarshal([]byte(in), &copied)
		if diff := cmp.Diff(fmt.Sprint(want), fmt.Sprint(err)); diff != "" {
			t.Errorf("%s: the error (-of Unmarshal +of UnmarshalShared):\n%s", in, diff)
		}
		if diff := cmp.Diff(copied, shared); diff != "" {
			t.Errorf("%s (-of Unmarshal +of UnmarshalShared):\n%s", in, diff)
		}
		if string(data) != in {
			t.Errorf("%s was changed to %s", in, data)
		}
		values := append([]Value{shared.Raw}, shared.Raws...)
		if shared.Inner != nil {
			values = append(values, shared.Inner.Raw)
		}
		for _, i := range shared.List {
			values = append(values, i.Raw)
		}
		for _, v := range values {
			if v == nil {
				continue
			}
			at := uintptr(unsafe.Pointer(unsafe.SliceData(v))) - uintptr(unsafe.Pointer(unsafe.SliceData(data)))
			if at >= uintptr(len(data)) {
				t.Errorf("%s: %s is a copy", in, v)
			}
			if cap(v) != len(v) {
				t.Errorf("%s: appending to %s would change what follows it", in, v)
			}
		}
	}
}
