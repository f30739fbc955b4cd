//go:build js && wasm

// Command inventory runs package inventory in a browser, as function describeOperators of the global object.
package main

import (
	"fmt"
	"syscall/js"
	"time"

	"github.com/operator-status/operator-status/internal/inventory"
)

func main() {
	js.Global().Set("describeOperators", js.FuncOf(func(_ js.Value, args []js.Value) any {
		cluster := make([]byte, args[0].Length())
		js.CopyBytesToGo(cluster, args[0])
		out, err := describe(cluster)
		if err != nil {
			return map[string]any{"error": err.Error()}
		}
		text := js.Global().Get("Uint8Array").New(len(out))
		js.CopyBytesToJS(text, out)
		return map[string]any{"inventory": text}
	}))
	select {}
}

// describe returns a panic as an error, since the program would not answer again.
func describe(cluster []byte) (out []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("describing the operators: %v", r)
		}
	}()
	return inventory.Describe(cluster, time.Now())
}
