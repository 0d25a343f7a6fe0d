package display

import (
	"fmt"
	"image"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// A value whose type has one or more of these methods is shown by them.
type (
	// Renderer makes a whole bundle.
	Renderer interface{ Render() Data }
	// SimpleRenderer makes a bundle without metadata.
	SimpleRenderer interface{ SimpleRender() MIMEMap }
	// HTMLer shows itself as HTML.
	HTMLer interface{ HTML() string }
	// JavaScripter shows itself by JavaScript.
	JavaScripter interface{ JavaScript() string }
	// JPEGer shows itself as a picture in JPEG.
	JPEGer interface{ JPEG() []byte }
	// JSONer shows itself as a JSON object.
	JSONer interface{ JSON() map[string]any }
	// Latexer shows itself as LaTeX.
	Latexer interface{ Latex() string }
	// Markdowner shows itself as Markdown.
	Markdowner interface{ Markdown() string }
	// PNGer shows itself as a picture in PNG.
	PNGer interface{ PNG() []byte }
	// PDFer shows itself as a PDF document.
	PDFer interface{ PDF() []byte }
	// SVGer shows itself as a drawing in SVG.
	SVGer interface{ SVG() string }
)

// longestText bounds the text form of a value that shows itself better in another one.
const longestText = 2000

// methods are the names of those that count, those that make whole bundles first, and the MIME types they give.
var methods = []struct{ name, mimeType string }{
	{"Render", ""}, {"SimpleRender", ""},
	{"HTML", MIMETypeHTML}, {"JavaScript", MIMETypeJavaScript}, {"JPEG", MIMETypeJPEG}, {"JSON", MIMETypeJSON},
	{"Latex", MIMETypeLatex}, {"Markdown", MIMETypeMarkdown}, {"PNG", MIMETypePNG}, {"PDF", MIMETypePDF}, {"SVG", MIMETypeSVG},
}

// compiled maps a method's name to the method of a value of a compiled type, or to nil where it has none. It can panic
// like any use of a nil pointer.
var compiled = map[string]func(v any) any{
	"Render":       finder(func(r Renderer) any { return r.Render }),
	"SimpleRender": finder(func(r SimpleRenderer) any { return r.SimpleRender }),
	"HTML":         finder(func(r HTMLer) any { return r.HTML }),
	"JavaScript":   finder(func(r JavaScripter) any { return r.JavaScript }),
	"JPEG":         finder(func(r JPEGer) any { return r.JPEG }),
	"JSON":         finder(func(r JSONer) any { return r.JSON }),
	"Latex":        finder(func(r Latexer) any { return r.Latex }),
	"Markdown":     finder(func(r Markdowner) any { return r.Markdown }),
	"PNG":          finder(func(r PNGer) any { return r.PNG }),
	"PDF":          finder(func(r PDFer) any { return r.PDF }),
	"SVG":          finder(func(r SVGer) any { return r.SVG }),
}

func finder[I any](method func(I) any) func(any) any {
	return func(v any) any {
		if r, ok := v.(I); ok {
			return method(r)
		}
		return nil
	}
}

// Render gives the bundle that shows v, if v is a bundle, an image, or has methods that show it; several methods make
// one bundle. The bundle always has a text form. A method that panics does not harm: the text form says so.
func Render(v any) (Data, bool) {
	switch v := v.(type) {
	case nil:
		return Data{}, false
	case Data:
		return withText(v, func() string { return textOf(v) }), true
	}
	d, ok := RenderMethods(func(name string) any { return compiled[name](v) }, func() string { return fmt.Sprint(v) })
	if ok {
		return d, true
	}
	if img, is := v.(image.Image); is {
		return renderImage(img), true
	}
	return Data{}, false
}

// RenderMethods is Render for an evaluator whose values have methods that Go does not see. The function method gives
// the method of that name as a func() string, func() []byte, func() Data and so on, or nil; text gives the text form,
// which is used when no method has made one.
func RenderMethods(method func(name string) any, text func() string) (Data, bool) {
	d := Data{Data: MIMEMap{}}
	var failures []string
	found := false
	for _, m := range methods {
		part, ok, err := call(m.name, m.mimeType, method)
		found = found || ok
		if err != nil {
			failures = append(failures, err.Error())
		}
		d.Data = addMissing(d.Data, part.Data)
		d.Metadata = addMissing(d.Metadata, part.Metadata)
		d.Transient = addMissing(d.Transient, part.Transient)
	}
	if !found {
		return Data{}, false
	}
	if len(failures) > 0 {
		d.Data[MIMETypeText] = strings.Join(failures, "\n")
		return d, true
	}
	return withText(d, text), true
}

// call runs one method; ok is false when there is none.
func call(name, mimeType string, method func(string) any) (d Data, ok bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			d, ok, err = Data{}, true, fmt.Errorf("cannot render: the method %s panicked: %v", name, p)
		}
	}()
	f := method(name)
	if mimeType == "" {
		switch f := f.(type) {
		case func() Data:
			return f(), true, nil
		case func() MIMEMap:
			return Data{Data: f()}, true, nil
		}
		return Data{}, false, nil
	}
	var form any
	switch f := f.(type) {
	case func() string:
		form = f()
	case func() []byte:
		form = f()
	case func() MIMEMap:
		form = f()
	default:
		return Data{}, false, nil // none, or one of that name with another purpose
	}
	return Data{Data: MIMEMap{mimeType: form}}, true, nil
}

// addMissing adds to a copy of m what only more has: a method that makes a whole bundle has the first word.
func addMissing(m, more MIMEMap) MIMEMap {
	if len(more) == 0 {
		return m
	}
	c := MIMEMap{}
	maps.Copy(c, more)
	maps.Copy(c, m)
	return c
}

// textOf gives the text form of a bundle that has none: one that is text as well, or else what there is.
func textOf(d Data) string {
	for _, t := range []string{MIMETypeMarkdown, MIMETypeLatex, MIMETypeHTML, MIMETypeSVG, MIMETypeJavaScript} {
		if s, ok := d.Data[t].(string); ok {
			return s
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(d.Data)), ", ")
}

// withText gives the bundle with a text form, which is text's unless there is one.
func withText(d Data, text func() string) Data {
	if _, ok := d.Data[MIMETypeText]; ok {
		return d
	}
	s := func() (s string) {
		defer func() {
			if p := recover(); p != nil {
				s = fmt.Sprintf("cannot make a text of the value: %v", p)
			}
		}()
		return text()
	}()
	if len(s) > longestText {
		cut := longestText
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "…"
	}
	d.Data = with(d.Data, MIMETypeText, s)
	return d
}

// renderImage is imageData for an image whose methods may panic.
func renderImage(img image.Image) (d Data) {
	defer func() {
		if p := recover(); p != nil {
			d = MIME(MIMEMap{MIMETypeText: fmt.Sprintf("cannot render: a method of the image %T panicked: %v", img, p)}, nil)
		}
	}()
	d, err := imageData(img)
	if err != nil {
		return MIME(MIMEMap{MIMETypeText: err.Error()}, nil)
	}
	return d
}
