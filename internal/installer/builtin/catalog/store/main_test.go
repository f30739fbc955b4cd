package store_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/operator-status/operator-status/internal/installer/builtin/catalog/reader"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog/store"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == store.ReaderMode {
		if err := reader.Serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}
