package kernel

import (
	"fmt"
	"html"
	"strings"

	"github.com/gorovod/gorovod/display"
	"github.com/gorovod/gorovod/kernel/jupyter"
)

// longestValue is how much of a rank's value is shown when it is bound to a variable, which can be shown whole.
const longestValue = 200

// resultBundle shows the ranks' values by rank. bound says that a variable has them too.
func resultBundle(values map[int]jupyter.Bundle, size int, bound bool) jupyter.Bundle {
	var lines []string
	rich := false
	for rank := range size {
		text := "(its value was not shown)"
		if v, ok := values[rank]; ok {
			text = strings.TrimRight(plainText(v), "\n")
			rich = rich || richForm(v) != ""
		}
		if bound {
			text = shorten(text, longestValue)
		}
		tag := fmt.Sprintf("[%d] ", rank)
		lines = append(lines, tag+strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", len(tag))))
	}
	b := textBundle(strings.Join(lines, "\n"))
	if !rich {
		return b
	}
	var t strings.Builder
	t.WriteString(`<table><tbody>`)
	for rank := range size {
		form := richForm(values[rank])
		if form == "" {
			form = `<pre>` + html.EscapeString(plainText(values[rank])) + `</pre>`
		}
		fmt.Fprintf(&t, `<tr><th>%d</th><td style="text-align: left">%s</td></tr>`, rank, form)
	}
	t.WriteString(`</tbody></table>`)
	b.Data[display.MIMETypeHTML] = t.String()
	return b
}

// richForm gives a bundle as HTML, if it has a form that is more than text.
func richForm(b jupyter.Bundle) string {
	form := func(mime string) (string, bool) {
		text, ok := b.Data[mime].(string)
		return text, ok && text != ""
	}
	if text, ok := form(display.MIMETypeHTML); ok {
		return text
	}
	if text, ok := form(display.MIMETypeSVG); ok {
		return text
	}
	for _, mime := range []string{display.MIMETypePNG, display.MIMETypeJPEG, "image/gif", "image/webp"} {
		if text, ok := form(mime); ok {
			text = strings.Join(strings.Fields(text), "")
			return `<img src="data:` + mime + `;base64,` + html.EscapeString(text) + `" alt="` + html.EscapeString(plainText(b)) + `">`
		}
	}
	return ""
}
