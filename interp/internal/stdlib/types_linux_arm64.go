package stdlib

import _ "embed"

//go:embed data/types_linux_arm64.zip
var typesArchive string
