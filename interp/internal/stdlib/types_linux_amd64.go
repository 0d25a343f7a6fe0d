package stdlib

import _ "embed"

//go:embed data/types_linux_amd64.zip
var typesArchive string
