package stdlib

import (
	"encoding"
	"encoding/json"
	"encoding/xml"
	"reflect"
)

// replaced gives the functions that stand in for those of a package: the ones that would refuse a wrapper because it
// is no pointer, although what it wraps is one.
func replaced(path string) map[string]any {
	switch path {
	case "encoding/json":
		return map[string]any{"Unmarshal": unmarshalJSON}
	case "encoding/xml":
		return map[string]any{"Unmarshal": unmarshalXML}
	}
	return nil
}

func unmarshalJSON(data []byte, v any) error {
	switch v.(type) {
	case json.Unmarshaler, encoding.TextUnmarshaler:
		v = pointerTo(v)
	}
	return json.Unmarshal(data, v)
}

func unmarshalXML(data []byte, v any) error {
	switch v.(type) {
	case xml.Unmarshaler, encoding.TextUnmarshaler:
		v = pointerTo(v)
	}
	return xml.Unmarshal(data, v)
}

// pointerTo puts a wrapper, which is a struct, behind a pointer. Anything else stays, for the decoder to judge.
func pointerTo(v any) any {
	if t := reflect.TypeOf(v); t.Kind() != reflect.Struct || t.NumField() == 0 || t.Field(0).Name != "IValue" {
		return v
	}
	p := reflect.New(reflect.TypeOf(v))
	p.Elem().Set(reflect.ValueOf(v))
	return p.Interface()
}
