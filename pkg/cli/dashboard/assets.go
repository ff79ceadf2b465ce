package dashboard

import (
	"embed"
	"io/fs"
	"net/http"
)

//go:embed page
var embedded embed.FS

// assets serves the files of the page. They contain no data of the hub, so they need no token.
func assets() http.Handler {
	files, err := fs.Sub(embedded, "page")
	if err != nil {
		panic(err) // The directory is part of the binary.
	}
	return http.FileServerFS(files)
}
