package display

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
)

// The members of Transient that say more than "show this": Jupyter's own, and ours.
const (
	transientID     = "display_id"
	transientAction = "gorovod_action"

	actionUpdate    = "update"
	actionClear     = "clear"
	actionClearWait = "clear_wait"
)

// sink is where this process shows things: to a notebook, from a session or a rank. Like standard output it belongs to
// the process.
var sink atomic.Pointer[func(Data) error]

// SetSink makes Display and its siblings hand their bundles to to, which can be called by several goroutines at once.
// The function that it returns puts back what was there before.
func SetSink(to func(Data) error) (restore func()) {
	old := sink.Swap(&to)
	return func() { sink.Store(old) }
}

var errNoNotebook = errors.New("cannot display: no notebook is connected to this process")

func send(d Data) error {
	to := sink.Load()
	if to == nil || *to == nil {
		return errNoNotebook
	}
	if err := (*to)(d); err != nil {
		return fmt.Errorf("cannot display: %w", err)
	}
	return nil
}

// Display shows a bundle now, in the output of the cell that is running. A bundle without a text form gets one.
func Display(d Data) error {
	if len(d.Data) == 0 {
		return errors.New("cannot display: the bundle is empty")
	}
	return send(withText(d, func() string { return textOf(d) }))
}

// Update replaces what was displayed under the identifier by WithID.
func Update(id string, d Data) error {
	if id == "" {
		return errors.New("cannot display: an update needs the identifier that the bundle was displayed with")
	}
	d = WithID(id, d)
	d.Transient[transientAction] = actionUpdate
	return Display(d)
}

// Clear removes the cell's output so far; with wait, only once there is new output, which avoids flicker.
func Clear(wait bool) error {
	action := actionClear
	if wait {
		action = actionClearWait
	}
	return send(Data{Data: MIMEMap{}, Transient: MIMEMap{transientAction: action}})
}

// wire is a bundle as Encode writes it.
type wire struct {
	Data      MIMEMap `json:"data"`
	Metadata  MIMEMap `json:"metadata"`
	Transient MIMEMap `json:"transient"`
}

// Encode gives the bundle as JSON (see the package comment). Bytes become base64, or text where the MIME type is one of
// text. A form that JSON cannot express is an error that names it.
func Encode(d Data) ([]byte, error) {
	w := wire{Data: make(MIMEMap, len(d.Data)), Metadata: d.Metadata, Transient: d.Transient}
	for mimeType, v := range d.Data {
		b, err := encodeForm(mimeType, v)
		if err != nil {
			return nil, fmt.Errorf("cannot display: the form %s of type %T: %w", mimeType, v, err)
		}
		w.Data[mimeType] = b
	}
	if w.Metadata == nil {
		w.Metadata = MIMEMap{}
	}
	if w.Transient == nil {
		w.Transient = MIMEMap{}
	}
	b, err := json.Marshal(w)
	if err != nil {
		return nil, fmt.Errorf("cannot display: the metadata: %w", err)
	}
	return b, nil
}

func encodeForm(mimeType string, v any) (b json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("its JSON method panicked: %v", p)
		}
	}()
	if raw, ok := v.([]byte); ok && isText(mimeType) {
		v = string(raw)
	}
	// JSON that someone has already written is meant as what it says, not as a string.
	if s, ok := v.(string); ok && mimeType == MIMETypeJSON && json.Valid([]byte(s)) {
		return json.RawMessage(s), nil
	}
	return json.Marshal(v)
}
