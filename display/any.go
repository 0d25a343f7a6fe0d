package display

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// Any shows data as the given MIME type: a string, a []byte, an io.Reader or io.WriterTo that gives these, an
// image.Image, or a value that shows itself (see Render). With an empty MIME type the type is found from the data.
// It panics for other data, and when reading fails.
func Any(mimeType string, data any) Data {
	d, err := anyData(mimeType, data)
	if err != nil {
		panic(err)
	}
	return d
}

// Auto is Any with the MIME type found from the data.
func Auto(data any) Data { return Any("", data) }

// File shows the contents of a file. With an empty MIME type the type is found from the file's name and contents. It
// panics when the file cannot be read.
func File(mimeType, path string) Data {
	b, err := os.ReadFile(path)
	if err != nil {
		panic(fmt.Errorf("cannot show a file: %w", err))
	}
	if mimeType == "" {
		mimeType = byExtension[strings.ToLower(filepath.Ext(path))]
	}
	return fromBytes(mimeType, b)
}

func anyData(mimeType string, data any) (Data, error) {
	switch v := data.(type) {
	case string:
		return fromBytes(mimeType, []byte(v)), nil
	case []byte:
		return fromBytes(mimeType, v), nil
	case image.Image:
		return anyImage(mimeType, v)
	}
	// What shows itself comes before what can be read: a plot can do both, and knows better what it looks like.
	if d, ok := Render(data); ok {
		return d, nil
	}
	var b bytes.Buffer
	var err error
	switch v := data.(type) {
	case io.WriterTo:
		_, err = v.WriteTo(&b)
	case io.Reader:
		_, err = b.ReadFrom(v)
	default:
		return Data{}, fmt.Errorf("unsupported type, cannot render: %T", data)
	}
	if err != nil {
		return Data{}, fmt.Errorf("cannot show a %T: reading it: %w", data, err)
	}
	return fromBytes(mimeType, b.Bytes()), nil
}

func anyImage(mimeType string, img image.Image) (Data, error) {
	switch mimeType {
	case "", MIMETypePNG:
		return imageData(img)
	case MIMETypeJPEG:
		var b bytes.Buffer
		if err := jpeg.Encode(&b, img, nil); err != nil {
			return Data{}, fmt.Errorf("cannot show an image as JPEG: %w", err)
		}
		return JPEG(b.Bytes()), nil
	}
	return Data{}, fmt.Errorf("cannot show an image as %s, only as %s or %s", mimeType, MIMETypePNG, MIMETypeJPEG)
}

// fromBytes makes a bundle of bytes in the form that suits the type, finding the type if it is empty.
func fromBytes(mimeType string, b []byte) Data {
	if mimeType == "" {
		mimeType = detect(b)
	}
	if isText(mimeType) {
		return MakeData(mimeType, string(b))
	}
	return MakeData(mimeType, b)
}

// byExtension names the types that contents alone do not tell.
var byExtension = map[string]string{
	".htm": MIMETypeHTML, ".html": MIMETypeHTML, ".js": MIMETypeJavaScript, ".json": MIMETypeJSON,
	".md": MIMETypeMarkdown, ".svg": MIMETypeSVG, ".tex": MIMETypeLatex, ".txt": MIMETypeText,
}

// detect finds the MIME type of contents, without parameters such as a character set.
func detect(b []byte) string {
	start := bytes.ToLower(bytes.TrimSpace(b[:min(len(b), 512)]))
	if bytes.HasPrefix(start, []byte("<svg")) || bytes.HasPrefix(start, []byte("<?xml")) && bytes.Contains(start, []byte("<svg")) {
		return MIMETypeSVG
	}
	full := http.DetectContentType(b)
	if t, _, err := mime.ParseMediaType(full); err == nil {
		return t
	}
	return full
}

// isText reports whether data of a MIME type goes into a bundle as a string.
func isText(mimeType string) bool {
	t, _, _ := strings.Cut(mimeType, ";")
	switch t = strings.TrimSpace(t); t {
	case MIMETypeJavaScript, MIMETypeJSON, "application/xml", "":
		return true
	}
	return strings.HasPrefix(t, "text/") || strings.HasSuffix(t, "+xml") || strings.HasSuffix(t, "+json")
}
