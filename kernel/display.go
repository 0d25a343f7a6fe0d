package kernel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/gorovod/gorovod/display"
	"github.com/gorovod/gorovod/interp"
	"github.com/gorovod/gorovod/kernel/jupyter"
)

// shown is something that code wants shown, as package display sends it.
type shown struct {
	bundle jupyter.Bundle
	id     string
	action string
}

// The actions that a bundle can ask for instead of being shown.
const (
	actionUpdate    = "update"
	actionClear     = "clear"
	actionClearWait = "clear_wait"
)

// readDisplay reads what display.Encode wrote.
func readDisplay(data []byte) (*shown, error) {
	var wire struct {
		Data, Metadata map[string]any
		Transient      struct {
			ID     string `json:"display_id"`
			Action string `json:"gorovod_action"`
		}
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber() // numbers in JSON are shown as they are
	if err := d.Decode(&wire); err != nil {
		return nil, fmt.Errorf("read what is to be shown: %w", err)
	}
	s := &shown{jupyter.Bundle{Data: wire.Data, Metadata: wire.Metadata}, wire.Transient.ID, wire.Transient.Action}
	if len(s.bundle.Data) == 0 && s.action != actionClear && s.action != actionClearWait {
		return nil, errors.New("show a bundle: there is nothing in it")
	}
	return s, nil
}

// show does what was asked for in a cell's output.
func (s *shown) show(out *jupyter.Output) error {
	switch s.action {
	case actionClear, actionClearWait:
		out.ClearOutput(s.action == actionClearWait)
		return nil
	case actionUpdate:
		return out.UpdateDisplay(s.bundle, s.id)
	}
	return out.Display(s.bundle, s.id)
}

// bundleOf gives the value that an evaluation shows; ok is false when it shows none.
func bundleOf(o *interp.Outcome) (b jupyter.Bundle, ok bool, err error) {
	if o.Bundle == nil {
		return b, false, nil
	}
	data, err := display.Encode(display.Data{Data: o.Bundle, Metadata: o.Meta})
	if err != nil {
		return b, false, err
	}
	s, err := readDisplay(data)
	if err != nil {
		return b, false, err
	}
	return s.bundle, true, nil
}

func textBundle(text string) jupyter.Bundle {
	return jupyter.Bundle{Data: map[string]any{display.MIMETypeText: text}}
}

// plainText gives a bundle's text form.
func plainText(b jupyter.Bundle) string {
	text, _ := b.Data[display.MIMETypeText].(string)
	return text
}
