// Package display is what a cell's code calls to show a picture, a table or a formula.
//
// It takes Go values and gives MIME bundles: one thing in several forms, of which a front end picks the best that it
// can show. Where a bundle goes is not this package's business: the process that evaluates the code sets a sink.
//
// A bundle is shown when it is the value of a cell's last expression, or wherever Display is called with it:
//
//	display.HTML("<b>done</b>")
//	for i := range 3 {
//		display.Display(display.Image(plot(i)))
//	}
//
// A value whose type has a method such as HTML() string or PNG() []byte is shown by these methods without being asked;
// the interfaces of this package say which methods count.
//
// The functions and types are those of the display package of gophernotes, so that its notebooks run, with these
// repairs: every bundle has a text/plain form, text shown by Auto, Any or File is not lost, a panic in a method is
// shown and not raised, and an image's size stands in the metadata where front ends look for it.
//
// # Bundles as bytes
//
// Encode gives the JSON in which a bundle leaves the process: an object with the members data, metadata and
// transient, as in a display_data message of the Jupyter protocol. The last can have the member gorovod_action: "update" means
// update_display_data for its display_id; "clear" and "clear_wait" mean clear_output.
package display
