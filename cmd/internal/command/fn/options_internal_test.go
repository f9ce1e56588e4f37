package fn

import (
	"strings"
	"testing"

	"github.com/trainweld/trainweld/cmd/internal/host"
)

// TestHelp_Options: the help lists each option of a RenderTrainJobs, in order.
func TestHelp_Options(t *testing.T) {
	help := Command(&host.Program{}).Long
	for _, known := range fnOptionList() {
		_, after, ok := strings.Cut(help, "\n  "+known.name)
		if !ok || !strings.HasPrefix(after, " ") && !strings.HasPrefix(after, "\n") {
			t.Errorf("the help lacks %s, or has it before another option", known.name)
			continue
		}
		help = after
	}
}
