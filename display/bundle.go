package display

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"maps"
	"strings"
)

// MIME types that front ends can show.
const (
	MIMETypeHTML       = "text/html"
	MIMETypeJavaScript = "application/javascript"
	MIMETypeJPEG       = "image/jpeg"
	MIMETypeJSON       = "application/json"
	MIMETypeLatex      = "text/latex"
	MIMETypeMarkdown   = "text/markdown"
	MIMETypePNG        = "image/png"
	MIMETypePDF        = "application/pdf"
	MIMETypeSVG        = "image/svg+xml"
	MIMETypeText       = "text/plain"
)

// MIMEMap holds data by MIME type: a string for text, a []byte for what is not, and for JSON any value that package
// encoding/json takes.
type MIMEMap = map[string]any

// Data is a bundle: one thing in one or more forms. Metadata can have an entry of its own for each MIME type;
// Transient is not saved in a notebook.
type Data = struct {
	Data      MIMEMap
	Metadata  MIMEMap
	Transient MIMEMap
}

// MakeData makes a bundle of data and its text form. Bytes are not printed: their text form is their type and length.
func MakeData(mimeType string, data any) Data {
	text := ""
	if b, ok := data.([]byte); ok && !isText(mimeType) {
		text = fmt.Sprintf("%s, %d bytes", mimeType, len(b))
	} else if ok {
		text = string(b)
	} else {
		text = fmt.Sprint(data)
	}
	return MakeData3(mimeType, text, data)
}

// MakeData3 makes a bundle of data and the given text form.
func MakeData3(mimeType, plaintext string, data any) Data {
	return Data{Data: MIMEMap{MIMETypeText: plaintext, mimeType: data}}
}

// MIME makes a bundle of forms that the caller has made.
func MIME(data, metadata MIMEMap) Data {
	return Data{Data: data, Metadata: metadata}
}

// HTML shows HTML.
func HTML(html string) Data { return MakeData(MIMETypeHTML, html) }

// JavaScript runs JavaScript in the front end, if it lets notebooks do so.
func JavaScript(javascript string) Data { return MakeData(MIMETypeJavaScript, javascript) }

// Markdown shows Markdown.
func Markdown(markdown string) Data { return MakeData(MIMETypeMarkdown, markdown) }

// SVG shows a drawing in SVG.
func SVG(svg string) Data { return MakeData(MIMETypeSVG, svg) }

// JPEG shows a picture encoded as JPEG.
func JPEG(jpeg []byte) Data { return MakeData3(MIMETypeJPEG, "jpeg image", jpeg) }

// PNG shows a picture encoded as PNG.
func PNG(png []byte) Data { return MakeData3(MIMETypePNG, "png image", png) }

// PDF shows a PDF document.
func PDF(pdf []byte) Data { return MakeData3(MIMETypePDF, "pdf document", pdf) }

// JSON shows a JSON object, which front ends let unfold.
func JSON(json map[string]any) Data { return MakeData(MIMETypeJSON, json) }

// Latex shows LaTeX within the line; dollar signs round it are not needed.
func Latex(latex string) Data {
	return MakeData3(MIMETypeLatex, latex, "$"+strings.Trim(latex, "$")+"$")
}

// Math shows LaTeX as a formula of its own; dollar signs round it are not needed.
func Math(latex string) Data {
	return MakeData3(MIMETypeLatex, latex, "$$"+strings.Trim(latex, "$")+"$$")
}

// Image shows a picture. It panics when the picture cannot be encoded, such as one without any pixels.
func Image(img image.Image) Data {
	d, err := imageData(img)
	if err != nil {
		panic(err)
	}
	return d
}

// maxPixels keeps an image without an end, such as image.Black, from being encoded to no end.
const maxPixels = 1 << 28

func imageData(img image.Image) (Data, error) {
	size := img.Bounds().Size()
	if size.X > 0 && size.Y > maxPixels/size.X {
		return Data{}, fmt.Errorf("cannot show an image of %d by %d pixels: that is more than %d", size.X, size.Y, maxPixels)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return Data{}, fmt.Errorf("cannot show an image of %d by %d pixels: %w", size.X, size.Y, err)
	}
	d := MakeData3(MIMETypePNG, fmt.Sprintf("image of %d by %d pixels", size.X, size.Y), b.Bytes())
	d.Metadata = MIMEMap{MIMETypePNG: MIMEMap{"width": size.X, "height": size.Y}}
	return d, nil
}

// WithID gives the bundle under an identifier by which Update can replace it.
func WithID(id string, d Data) Data {
	d.Transient = with(d.Transient, transientID, id)
	return d
}

// with gives a copy of m in which key is set.
func with(m MIMEMap, key string, v any) MIMEMap {
	c := MIMEMap{}
	maps.Copy(c, m)
	c[key] = v
	return c
}
