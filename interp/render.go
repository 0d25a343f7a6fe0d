package interp

// render gives the MIME bundle of a cell's value and its metadata.
func render(vs []any) (bundle, meta map[string]any) {
	return map[string]any{"text/plain": plainText(vs)}, nil
}
