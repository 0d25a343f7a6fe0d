package kernelspec

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"strings"
)

// The logo is four ranks on a ring, one of them the root, on a rounded square. It is drawn here rather than kept as
// files, so that its sizes and forms agree. Lengths are parts of the logo's side.
const (
	cornerRadius = 0.20
	ringRadius   = 0.28
	ringWidth    = 0.055
	dotRadius    = 0.115
)

var (
	ground = color.NRGBA{0x00, 0x6f, 0x8a, 0xff}
	ink    = color.NRGBA{0xff, 0xff, 0xff, 0xff}
	root   = color.NRGBA{0xfd, 0xd0, 0x3b, 0xff}
)

// dots gives the centres of the ranks, the root first.
func dots() [4][2]float64 {
	return [4][2]float64{{0.5, 0.5 - ringRadius}, {0.5 + ringRadius, 0.5}, {0.5, 0.5 + ringRadius}, {0.5 - ringRadius, 0.5}}
}

// logos gives the files that Jupyter's front ends look for.
func logos() (map[string][]byte, error) {
	files := map[string][]byte{"logo-svg.svg": svg()}
	for _, size := range []int{32, 64} {
		var b bytes.Buffer
		if err := png.Encode(&b, raster(size)); err != nil {
			return nil, fmt.Errorf("draw the logo: %w", err)
		}
		files[fmt.Sprintf("logo-%dx%d.png", size, size)] = b.Bytes()
	}
	return files, nil
}

// raster draws the logo, taking the mean of several points in each pixel.
func raster(size int) image.Image {
	const points = 8
	img := image.NewNRGBA(image.Rect(0, 0, size, size))
	for py := range size {
		for px := range size {
			var r, g, b, a float64
			for i := range points * points {
				x := (float64(px) + (float64(i%points)+0.5)/points) / float64(size)
				y := (float64(py) + (float64(i/points)+0.5)/points) / float64(size)
				c := at(x, y)
				alpha := float64(c.A)
				r, g, b, a = r+float64(c.R)*alpha, g+float64(c.G)*alpha, b+float64(c.B)*alpha, a+alpha
			}
			if a > 0 {
				img.SetNRGBA(px, py, color.NRGBA{round(r / a), round(g / a), round(b / a), round(a / (points * points))})
			}
		}
	}
	return img
}

func round(v float64) uint8 { return uint8(math.Round(v)) }

// at gives the colour of a point.
func at(x, y float64) color.NRGBA {
	for i, d := range dots() {
		if math.Hypot(x-d[0], y-d[1]) <= dotRadius {
			if i == 0 {
				return root
			}
			return ink
		}
	}
	if math.Abs(math.Hypot(x-0.5, y-0.5)-ringRadius) <= ringWidth/2 {
		return ink
	}
	// The distance from the square that the rounded corners leave inside.
	dx := max(math.Abs(x-0.5)-(0.5-cornerRadius), 0)
	dy := max(math.Abs(y-0.5)-(0.5-cornerRadius), 0)
	if math.Hypot(dx, dy) <= cornerRadius {
		return ground
	}
	return color.NRGBA{}
}

func svg() []byte {
	hex := func(c color.NRGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }
	var b strings.Builder
	b.WriteString(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1" width="64" height="64">` + "\n")
	fmt.Fprintf(&b, `  <rect width="1" height="1" rx="%g" fill="%s"/>`+"\n", cornerRadius, hex(ground))
	fmt.Fprintf(&b, `  <circle cx="0.5" cy="0.5" r="%g" fill="none" stroke="%s" stroke-width="%g"/>`+"\n", ringRadius, hex(ink), ringWidth)
	for i, d := range dots() {
		fill := ink
		if i == 0 {
			fill = root
		}
		fmt.Fprintf(&b, `  <circle cx="%.3g" cy="%.3g" r="%g" fill="%s"/>`+"\n", d[0], d[1], dotRadius, hex(fill))
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}
