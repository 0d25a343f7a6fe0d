package interp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"strconv"

	"github.com/gorovod/gorovod/display"
)

// render gives the MIME bundle of a cell's values and its metadata. What shows itself is shown so when it is alone, or
// when all beside it is nil: that is how an image and the error of its decoder come.
func render(vs []any) (bundle, meta map[string]any) {
	var alone any
	others := 0
	for _, v := range vs {
		switch {
		case v == nil:
		case alone == nil:
			alone = v
		default:
			others++
		}
	}
	// A rectangle is also an image, of nothing but itself: people want to see its corners.
	if _, rectangle := alone.(image.Rectangle); others == 0 && !rectangle {
		if d, ok := display.Render(alone); ok {
			return d.Data, d.Metadata
		}
	}
	return map[string]any{display.MIMETypeText: plainText(vs)}, nil
}

// portable gives a bundle as it can leave the process: strings, and what JSON is made of. A form that has no such
// expression is an error in the bundle's text form.
func portable(bundle, meta map[string]any) (_, _ map[string]any) {
	var wire struct{ Data, Metadata map[string]any }
	data, err := display.Encode(display.Data{Data: bundle, Metadata: meta})
	if err == nil {
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		err = dec.Decode(&wire)
	}
	if err != nil {
		return map[string]any{display.MIMETypeText: fmt.Sprintf("%v\n%v", bundle[display.MIMETypeText], err)}, nil
	}
	numbers(wire.Data)
	numbers(wire.Metadata)
	if len(wire.Metadata) == 0 {
		wire.Metadata = nil
	}
	return wire.Data, wire.Metadata
}

// numbers gives numbers of JSON a type of Go: that of integers where they are.
func numbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = numbers(x)
		}
	case []any:
		for i, x := range v {
			v[i] = numbers(x)
		}
	case json.Number:
		if i, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return i
		}
		f, _ := v.Float64() // out of range: infinity, as near as it gets
		return f
	}
	return v
}
