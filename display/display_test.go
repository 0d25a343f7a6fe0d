package display_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorovod/gorovod/display"
)

func picture() image.Image {
	img := image.NewGray(image.Rect(0, 0, 4, 2))
	img.Set(1, 1, color.White)
	return img
}

func bundle(pairs ...any) display.Data {
	m := display.MIMEMap{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	return display.Data{Data: m}
}

func TestConstructors(t *testing.T) {
	t.Parallel()
	obj := map[string]any{"a": 1}
	raw := []byte{1, 2}
	for name, c := range map[string]struct{ got, want display.Data }{
		"HTML":       {display.HTML("<b>"), bundle("text/html", "<b>", "text/plain", "<b>")},
		"JavaScript": {display.JavaScript("f()"), bundle("application/javascript", "f()", "text/plain", "f()")},
		"Markdown":   {display.Markdown("*x*"), bundle("text/markdown", "*x*", "text/plain", "*x*")},
		"SVG":        {display.SVG("<svg/>"), bundle("image/svg+xml", "<svg/>", "text/plain", "<svg/>")},
		"JPEG":       {display.JPEG(raw), bundle("image/jpeg", raw, "text/plain", "jpeg image")},
		"PNG":        {display.PNG(raw), bundle("image/png", raw, "text/plain", "png image")},
		"PDF":        {display.PDF(raw), bundle("application/pdf", raw, "text/plain", "pdf document")},
		"JSON":       {display.JSON(obj), bundle("application/json", obj, "text/plain", "map[a:1]")},
		"Latex":      {display.Latex("$x$"), bundle("text/latex", "$x$", "text/plain", "$x$")},
		"Math":       {display.Math("x"), bundle("text/latex", "$$x$$", "text/plain", "x")},
		"MakeData":   {display.MakeData("x/y", raw), bundle("x/y", raw, "text/plain", "x/y, 2 bytes")},
		"text":       {display.MakeData("text/plain", "t"), bundle("text/plain", "t")},
		"MakeData3":  {display.MakeData3("x/y", "p", 5), bundle("x/y", 5, "text/plain", "p")},
		"MIME": {
			display.MIME(display.MIMEMap{"a": 1}, display.MIMEMap{"b": 2}),
			display.Data{Data: display.MIMEMap{"a": 1}, Metadata: display.MIMEMap{"b": 2}},
		},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestImage(t *testing.T) {
	t.Parallel()
	d := display.Image(picture())
	if img, err := png.Decode(bytes.NewReader(d.Data["image/png"].([]byte))); err != nil || img.Bounds().Dx() != 4 {
		t.Errorf("the bundle's PNG is %v, %v", img, err)
	}
	want := display.MIMEMap{"image/png": display.MIMEMap{"width": 4, "height": 2}}
	if diff := cmp.Diff(want, d.Metadata); diff != "" || d.Data["text/plain"] != "image of 4 by 2 pixels" {
		t.Errorf("metadata (-want +got):\n%s; text %v", diff, d.Data["text/plain"])
	}
	if msg := panicOf(func() { display.Image(image.NewGray(image.Rectangle{})) }); !strings.Contains(msg, "cannot show an image of 0 by 0 pixels") {
		t.Errorf("an image without pixels: %q", msg)
	}
}

// panicOf gives the message of the panic that f ends in.
func panicOf(f func()) (msg string) {
	defer func() {
		if err, ok := recover().(error); ok {
			msg = err.Error()
		}
	}()
	f()
	return ""
}

func TestAnyAndAuto(t *testing.T) {
	t.Parallel()
	var encoded bytes.Buffer
	if err := png.Encode(&encoded, picture()); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		mimeType string
		in       any
		want     string // the MIME type of the form that is not text
		text     string
	}{
		"string":        {"", "plain words", "text/plain", "plain words"},
		"empty":         {"", "", "text/plain", ""},
		"HTML found":    {"", "<html><body>x</body></html>", "text/html", "<html><body>x</body></html>"},
		"SVG found":     {"", "<?xml version='1.0'?><svg/>", "image/svg+xml", "<?xml version='1.0'?><svg/>"},
		"PNG found":     {"", encoded.Bytes(), "image/png", ""},
		"named":         {"text/markdown", "*x*", "text/markdown", "*x*"},
		"named text":    {"text/plain", []byte("t"), "text/plain", "t"},
		"bytes as text": {"text/html", []byte("<b>"), "text/html", "<b>"},
		"reader":        {"", strings.NewReader("from a reader"), "text/plain", "from a reader"},
		"plain reader":  {"", io.LimitReader(strings.NewReader("limited"), 3), "text/plain", "lim"},
		"writer":        {"text/html", bytes.NewBufferString("<i>"), "text/html", "<i>"},
		"image":         {"", picture(), "image/png", "image of 4 by 2 pixels"},
		"image as JPEG": {"image/jpeg", picture(), "image/jpeg", "jpeg image"},
		"renderable":    {"", page("<p>"), "text/html", "<p>"},
		"bundle":        {"", display.Math("x"), "text/latex", "x"},
	} {
		d := display.Any(c.mimeType, c.in)
		if _, ok := d.Data[c.want]; !ok {
			t.Errorf("%s: got %v, want a form %s", name, d.Data, c.want)
		}
		if text, _ := d.Data["text/plain"].(string); c.text != "" && text != c.text {
			t.Errorf("%s: the text form is %q, want %q", name, text, c.text)
		}
	}
	jpg := display.Any("image/jpeg", picture()).Data["image/jpeg"].([]byte)
	if _, err := jpeg.Decode(bytes.NewReader(jpg)); err != nil {
		t.Errorf("the JPEG made of an image: %v", err)
	}
	for _, in := range []any{42, nil, struct{}{}, failingReader{}} {
		if msg := panicOf(func() { display.Auto(in) }); !strings.Contains(msg, "cannot") {
			t.Errorf("%T: want a panic that says what cannot be done, got %q", in, msg)
		}
	}
	if msg := panicOf(func() { display.Any("image/tiff", picture()) }); !strings.Contains(msg, "image/tiff") {
		t.Errorf("an image as TIFF: %q", msg)
	}
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errors.New("gone") }

func TestFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, want := range map[string]string{
		"a.md": "text/markdown", "a.svg": "image/svg+xml", "a.json": "application/json", "a.TXT": "text/plain", "none": "text/plain",
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		if d := display.File("", path); d.Data[want] != "{}" {
			t.Errorf("%s: got %v, want it as %s", name, d.Data, want)
		}
		if d := display.File("text/html", path); d.Data["text/html"] != "{}" {
			t.Errorf("%s as HTML: got %v", name, d.Data)
		}
	}
	if msg := panicOf(func() { display.File("", filepath.Join(dir, "missing")) }); !strings.Contains(msg, "missing") {
		t.Errorf("a missing file: %q", msg)
	}
}

type (
	page    string
	many    struct{ page }
	full    struct{}
	simple  struct{}
	broken  struct{ page }
	pointed struct{ n int }
	other   struct{}
	mute    struct{}
	scary   struct{ image.Image }
)

func (p page) HTML() string       { return string(p) }
func (many) Markdown() string     { return "md" }
func (many) SVG() string          { return "svg" }
func (many) PNG() []byte          { return []byte{1} }
func (many) JPEG() []byte         { return []byte{2} }
func (many) PDF() []byte          { return []byte{3} }
func (many) Latex() string        { return "tex" }
func (many) JavaScript() string   { return "js" }
func (many) JSON() map[string]any { return map[string]any{"k": "v"} }
func (many) String() string       { return "many in words" }
func (full) Render() display.Data {
	return display.MIME(display.MIMEMap{"text/html": "full"}, display.MIMEMap{"m": 1})
}
func (full) HTML() string { return "never asked for" }
func (full) SVG() string  { return "svg" }
func (simple) SimpleRender() display.MIMEMap {
	return display.MIMEMap{"text/plain": "own words", "x/y": 1}
}
func (broken) SVG() string            { panic("ink is out") }
func (p *pointed) HTML() string       { return strings.Repeat("x", p.n) }
func (other) HTML() int               { return 1 }
func (mute) HTML() string             { return "<hr>" }
func (mute) String() string           { panic("speechless") }
func (scary) At(int, int) color.Color { panic("no pixel") }
func (scary) ColorModel() color.Model { return color.GrayModel }
func (scary) Bounds() image.Rectangle { return image.Rect(0, 0, 1, 1) }

func TestRender(t *testing.T) {
	t.Parallel()
	var nilPage *page
	for name, c := range map[string]struct {
		in   any
		want display.Data
	}{
		"one method": {page("<p>"), bundle("text/html", "<p>", "text/plain", "<p>")},
		"all methods": {many{"<p>"}, bundle("text/html", "<p>", "text/markdown", "md", "image/svg+xml", "svg", "image/png", []byte{1},
			"image/jpeg", []byte{2}, "application/pdf", []byte{3}, "text/latex", "tex", "application/javascript", "js",
			"application/json", map[string]any{"k": "v"}, "text/plain", "many in words")},
		"bundle first": {full{}, display.Data{
			Data:     display.MIMEMap{"text/html": "full", "image/svg+xml": "svg", "text/plain": "{}"},
			Metadata: display.MIMEMap{"m": 1},
		}},
		"simple":       {simple{}, bundle("text/plain", "own words", "x/y", 1)},
		"pointer":      {&pointed{2}, bundle("text/html", "xx", "text/plain", "&{2}")},
		"data":         {bundle("x/y", 1), bundle("x/y", 1, "text/plain", "x/y")},
		"data in text": {bundle("x/y", 1, "text/html", "<b>"), bundle("x/y", 1, "text/html", "<b>", "text/plain", "<b>")},
		"panics":       {broken{"<p>"}, bundle("text/html", "<p>", "text/plain", "cannot render: the method SVG panicked: ink is out")},
		"nil pointer, method of the value": {nilPage, bundle("text/plain",
			"cannot render: the method HTML panicked: value method github.com/gorovod/gorovod/display_test.page.HTML called using nil *page pointer")},
		"nil pointer, own method": {(*pointed)(nil), bundle("text/plain",
			"cannot render: the method HTML panicked: runtime error: invalid memory address or nil pointer dereference")},
		"speechless":        {mute{}, bundle("text/html", "<hr>", "text/plain", "%!v(PANIC=String method: speechless)")},
		"image panics":      {scary{}, bundle("text/plain", "cannot render: a method of the image display_test.scary panicked: no pixel")},
		"image without end": {image.Black, bundle("text/plain", "cannot show an image of 2000000000 by 2000000000 pixels: that is more than 268435456")},
		"image without":     {image.NewGray(image.Rectangle{}), bundle("text/plain", "cannot show an image of 0 by 0 pixels: png: invalid format: invalid image size: 0x0")},
	} {
		got, ok := display.Render(c.in)
		if diff := cmp.Diff(c.want, got); diff != "" || !ok {
			t.Errorf("%s: rendered %v (-want +got):\n%s", name, ok, diff)
		}
	}
	if d, ok := display.Render(picture()); !ok || len(d.Data["image/png"].([]byte)) == 0 {
		t.Errorf("an image was rendered as %v", d)
	}
	if d, ok := display.Render(page(strings.Repeat("é", 3000))); !ok || len(d.Data["text/plain"].(string)) > 2010 {
		t.Error("a long text form was not cut")
	}
	for _, in := range []any{nil, 1, "text", []page{"x"}, other{}, pointed{1}, errors.New("x")} {
		if d, ok := display.Render(in); ok {
			t.Errorf("%#v was rendered as %v", in, d)
		}
	}
}

func TestRenderMethods(t *testing.T) {
	t.Parallel()
	interpreted := map[string]any{
		"HTML": func() string { return "<b>" }, "PNG": func() []byte { return []byte{1} },
		"Render": func() string { return "x" }, "SVG": func() int { return 1 }, "JSON": func() map[string]any { return map[string]any{"a": 1} },
	}
	d, ok := display.RenderMethods(func(name string) any { return interpreted[name] }, func() string { panic("no text") })
	want := bundle("text/html", "<b>", "image/png", []byte{1}, "application/json", map[string]any{"a": 1},
		"text/plain", "cannot make a text of the value: no text")
	if diff := cmp.Diff(want, d); diff != "" || !ok {
		t.Errorf("rendered %v (-want +got):\n%s", ok, diff)
	}
	if _, ok := display.RenderMethods(func(string) any { return nil }, nil); ok {
		t.Error("a value without methods was rendered")
	}
}

// Not parallel, like all that sets the process's sink.
func TestSink(t *testing.T) {
	for _, err := range []error{display.Display(display.HTML("x")), display.Update("a", display.HTML("x")), display.Clear(true)} {
		if err == nil || !strings.HasPrefix(err.Error(), "cannot display: ") {
			t.Errorf("without a sink: %v", err)
		}
	}
	var got []display.Data
	restore := display.SetSink(func(d display.Data) error { got = append(got, d); return nil })
	failing := display.SetSink(func(display.Data) error { return io.ErrClosedPipe })
	if err := display.Display(display.HTML("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a sink that fails: %v", err)
	}
	failing()
	shown := display.WithID("bar", display.MakeData("text/plain", "0 %"))
	for _, err := range []error{
		display.Display(shown), display.Update("bar", display.MakeData("text/plain", "1 %")), display.Clear(true), display.Clear(false),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	if err := display.Display(display.Data{}); err == nil {
		t.Error("an empty bundle was displayed")
	}
	if err := display.Update("", shown); err == nil {
		t.Error("an update without an identifier was displayed")
	}
	var lines []string
	for _, d := range got {
		b, err := display.Encode(d)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(b))
	}
	want := []string{
		`{"data":{"text/plain":"0 %"},"metadata":{},"transient":{"display_id":"bar"}}`,
		`{"data":{"text/plain":"1 %"},"metadata":{},"transient":{"display_id":"bar","gorovod_action":"update"}}`,
		`{"data":{},"metadata":{},"transient":{"gorovod_action":"clear_wait"}}`,
		`{"data":{},"metadata":{},"transient":{"gorovod_action":"clear"}}`,
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("the sink got (-want +got):\n%s", diff)
	}
	restore()
	if err := display.Display(shown); err == nil {
		t.Error("the sink was still there after it was taken away")
	}
}

func TestSinkUnderConcurrency(t *testing.T) {
	defer display.SetSink(func(display.Data) error { return nil })()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if err := display.Display(display.HTML("x")); err != nil {
					t.Error(err)
				}
				display.SetSink(func(display.Data) error { return nil })
			}
		})
	}
	wg.Wait()
}

type angryJSON struct{}

func (angryJSON) MarshalJSON() ([]byte, error) { panic("no JSON") }

func TestEncode(t *testing.T) {
	t.Parallel()
	d := bundle("text/html", []byte("<b>é</b>"), "image/png", []byte{0xff, 0}, "application/json", `{"x": [1]}`, "image/svg+xml", []byte("<svg/>"),
		"application/vnd.x+json", map[string]any{"n": 1})
	b, err := display.Encode(d)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]any{"data": {
		"text/html": "<b>é</b>", "image/png": "/wA=", "application/json": map[string]any{"x": []any{1.0}}, "image/svg+xml": "<svg/>",
		"application/vnd.x+json": map[string]any{"n": 1.0},
	}, "metadata": {}, "transient": {}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("encoded (-want +got):\n%s", diff)
	}
	for name, bad := range map[string]display.Data{
		"NaN":      bundle("application/json", map[string]any{"x": math.NaN()}),
		"channel":  bundle("x/y", make(chan int)),
		"panic":    bundle("x/y", angryJSON{}),
		"metadata": {Data: display.MIMEMap{"text/plain": "x"}, Metadata: display.MIMEMap{"f": func() {}}},
	} {
		if b, err := display.Encode(bad); err == nil || !strings.HasPrefix(err.Error(), "cannot display: the ") {
			t.Errorf("%s: encoded as %s, error %v", name, b, err)
		}
	}
}

func TestDisplayGivesATextForm(t *testing.T) {
	var got display.Data
	defer display.SetSink(func(d display.Data) error { got = d; return nil })()
	err := display.Display(display.Data{Data: display.MIMEMap{display.MIMETypeHTML: "<p>p</p>"}})
	if err != nil || got.Data[display.MIMETypeText] != "<p>p</p>" {
		t.Errorf("got %v, %v", got, err)
	}
}
