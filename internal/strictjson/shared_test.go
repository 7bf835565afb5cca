package strictjson

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
)

// TestUnmarshalMessage compares both ways of decoding, and looks where raw values are.
func TestUnmarshalMessage(t *testing.T) {
	type inner struct {
		Raw  Value  `json:"raw"`
		Text string `json:"text"`
	}
	type outer struct {
		Raw   Value   `json:"raw" null:"absent"`
		Text  string  `json:"text"`
		Inner *inner  `json:"inner" null:"absent"`
		List  []inner `json:"list" null:"absent"`
		Raws  []Value `json:"raws" null:"absent"`
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
		err, want := UnmarshalMessage(data, &shared), Unmarshal([]byte(in), &copied)
		if diff := cmp.Diff(fmt.Sprint(want), fmt.Sprint(err)); diff != "" {
			t.Errorf("%s: the error (-of Unmarshal +of UnmarshalMessage):\n%s", in, diff)
		}
		if diff := cmp.Diff(copied, shared); diff != "" {
			t.Errorf("%s (-of Unmarshal +of UnmarshalMessage):\n%s", in, diff)
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

// TestNull has a null in each place of a message: it is refused, except where the field's tag
// has it, and read as if the member were absent there.
func TestNull(t *testing.T) {
	type inner struct {
		Text string `json:"text"`
		Flag bool   `json:"flag" null:"absent"`
	}
	type embedded struct {
		Own string `json:"own"`
	}
	type outer struct {
		embedded
		Raw     Value             `json:"raw"`
		Any     Value             `json:"any" null:"absent"`
		Pointer *string           `json:"pointer"`
		Flag    bool              `json:"flag"`
		Inner   inner             `json:"inner"`
		List    []inner           `json:"list"`
		Texts   []string          `json:"texts"`
		Raws    []Value           `json:"raws"`
		Map     map[string]string `json:"map"`
	}
	for in, refused := range map[string]bool{
		`{"own":null}`: true, `{"raw":null}`: true, `{"pointer":null}`: true, `{"flag":null}`: true, `{"inner":null}`: true, `{"inner":{"text":null}}`: true,
		`{"list":null}`: true, `{"list":[null]}`: true, `{"list":[{},{"text":null}]}`: true, `{"texts":["a",null]}`: true, `{"map":null}`: true, `{"map":{"a":null}}`: true,
		`{"any":null}`: false, `{"inner":{"flag":null}}`: false, `{"raws":[null]}`: false, `{"other":null}`: false, `{"raw":{"flag":null}}`: false,
	} {
		var v outer
		if err := UnmarshalMessage(Value(in), &v); (err != nil) != refused {
			t.Errorf("%s: %v", in, err)
		}
		if err := Unmarshal([]byte(in), &v); err != nil {
			t.Errorf("%s, by Unmarshal: %v", in, err)
		}
	}
}
