package playground

import (
	"encoding/json"
	"syscall/js"
)

// Serve answers a page in a browser with these commands. It defines the JavaScript function trainweld, which takes a Request and returns
// the answers, both as JSON. It never returns.
func Serve(commands ...Command) {
	js.Global().Set("trainweld", js.FuncOf(func(_ js.Value, args []js.Value) any {
		var r Request
		if err := json.Unmarshal([]byte(args[0].String()), &r); err != nil {
			return js.Global().Get("Error").New(err.Error())
		}
		answers, err := json.Marshal(Run(r, commands...))
		if err != nil {
			return js.Global().Get("Error").New(err.Error())
		}
		return string(answers)
	}))
	select {}
}
