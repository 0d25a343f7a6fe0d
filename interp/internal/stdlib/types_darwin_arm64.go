package stdlib

import _ "embed"

//go:embed data/types_darwin_arm64.zip
var typesArchive string
