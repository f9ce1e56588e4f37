package cli

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// testdata holds the inputs that scripts of the program share.
const testdata = "../../cmd/trainweld/testdata"

// TestMain puts the program on the PATH, as this very binary, so that tests run it as a process of its own.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"trainweld":             func() { os.Exit(Run("", "")) },
		"trainweld-allocations": allocations, "trainweld-collections": collections,
	})
}
