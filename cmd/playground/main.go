//go:build js

// Command playground answers the page of the playground in a browser. It defines the JavaScript function trainweld,
// which takes a request and returns the answers, both as JSON: see package internal/playground.
package main

import (
	"encoding/json"
	"syscall/js"

	"github.com/trainweld/trainweld/internal/playground"
)

func main() {
	js.Global().Set("trainweld", js.FuncOf(func(_ js.Value, args []js.Value) any {
		var r playground.Request
		if err := json.Unmarshal([]byte(args[0].String()), &r); err != nil {
			return js.Global().Get("Error").New(err.Error())
		}
		answers, err := json.Marshal(playground.Run(r))
		if err != nil {
			return js.Global().Get("Error").New(err.Error())
		}
		return string(answers)
	}))
	select {}
}
