package catalog_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/operator-status/operator-status/internal/catalog"
	"github.com/operator-status/operator-status/internal/catalog/reader"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == catalog.ReaderMode {
		if err := reader.Serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}
