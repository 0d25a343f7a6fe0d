package display_test

import (
	"fmt"
	"image"

	"github.com/gorovod/gorovod/display"
)

func Example() {
	// A process that runs cells sets the sink; what is displayed arrives there.
	defer display.SetSink(func(d display.Data) error {
		b, err := display.Encode(d)
		fmt.Println(string(b))
		return err
	})()
	if err := display.Display(display.Markdown("**done**")); err != nil {
		fmt.Println(err)
	}
	// Output: {"data":{"text/markdown":"**done**","text/plain":"**done**"},"metadata":{},"transient":{}}
}

func ExampleDisplay_noNotebook() {
	fmt.Println(display.Display(display.HTML("<b>hello</b>")))
	// Output: cannot display: no notebook is connected to this process
}

// A value that is shown under an identifier can be replaced where it stands.
func ExampleUpdate() {
	defer display.SetSink(func(d display.Data) error {
		fmt.Println(d.Transient["display_id"], d.Data["text/plain"])
		return nil
	})()
	_ = display.Display(display.WithID("progress", display.MakeData("text/plain", "0 of 2")))
	_ = display.Update("progress", display.MakeData("text/plain", "2 of 2"))
	// Output:
	// progress 0 of 2
	// progress 2 of 2
}

type temperature float64

func (t temperature) HTML() string     { return fmt.Sprintf("<b>%.1f</b> °C", float64(t)) }
func (t temperature) Markdown() string { return fmt.Sprintf("**%.1f** °C", float64(t)) }

func ExampleRender() {
	d, ok := display.Render(temperature(36.6))
	fmt.Println(ok, d.Data["text/html"], "|", d.Data["text/markdown"], "|", d.Data["text/plain"])
	_, ok = display.Render(36.6)
	fmt.Println(ok)
	// Output:
	// true <b>36.6</b> °C | **36.6** °C | 36.6
	// false
}

func ExampleAny() {
	fmt.Println(display.Any("text/html", "<i>x</i>").Data)
	fmt.Println(display.Any("", "just words").Data)
	// Output:
	// map[text/html:<i>x</i> text/plain:<i>x</i>]
	// map[text/plain:just words]
}

func ExampleImage() {
	d := display.Image(image.NewGray(image.Rect(0, 0, 32, 16)))
	fmt.Println(d.Data["text/plain"], d.Metadata)
	// Output: image of 32 by 16 pixels map[image/png:map[height:16 width:32]]
}
