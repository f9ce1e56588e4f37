package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/trainweld/trainweld/internal/exit"
	"github.com/trainweld/trainweld/internal/host"
)

// TestProgress runs check by a clock of its own: what takes longer than a second says how far it is, on a
// terminal, and wipes that before the summary.
func TestProgress(t *testing.T) {
	dir := writeTrainJobs(t, 20)
	for _, tc := range []struct {
		name     string
		step     time.Duration // how long each look at the clock takes
		terminal bool
		want     []string
		reason   string
	}{
		{"slow", 200 * time.Millisecond, true, []string{"\rread 5 of 21\x1b[K", "\rread 21 of 21\x1b[K", "\rchecked 21 of 21\x1b[K\r\x1b[K"}, "somebody waits"},
		{"slow, often", 60 * time.Millisecond, true, []string{"\rread 17 of 21\x1b[K\rread 19 of 21\x1b[K"}, "ten times a second is enough"},
		{"fast", time.Millisecond, true, nil, "what is done at once needs no words"},
		{"no terminal", time.Second, false, nil, "nobody sees it in a log"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			now := time.Time{}
			var stdout, stderr bytes.Buffer
			p := host.Program{
				Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Files: host.Files{}, Terminal: tc.terminal,
				Clock: func() time.Time { now = now.Add(tc.step); return now },
			}
			if status := runLine(&p, []string{"check", dir}); status != exit.Done {
				t.Fatalf("status %d: %s", status, stderr.String())
			}
			got, summary, _ := strings.Cut(stderr.String(), "checked 20 TrainJobs")
			if tc.want == nil && got != "" {
				t.Errorf("says %q: %s", got, tc.reason)
			}
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("says %q, without %q: %s", got, want, tc.reason)
				}
			}
			if !strings.HasSuffix(summary, "nothing to report\n") || stdout.Len() > 0 {
				t.Errorf("ends with %q, and reports %q", summary, stdout.String())
			}
		})
	}
}

// TestProgressOfRender wants render to say how far it is, too, and to wipe that; in a pipe it says nothing.
func TestProgressOfRender(t *testing.T) {
	dir := writeTrainJobs(t, 20)
	for _, terminal := range []bool{true, false} {
		now := time.Time{}
		var stdout, stderr bytes.Buffer
		p := host.Program{
			Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Files: host.Files{}, Terminal: terminal,
			Clock: func() time.Time { now = now.Add(200 * time.Millisecond); return now },
		}
		if status := runLine(&p, []string{"render", "-f", dir, "--output-dir", t.TempDir()}); status != exit.Done || stdout.Len() > 0 {
			t.Fatalf("status %d: %s%s", status, stdout.String(), stderr.String())
		}
		said := stderr.String()
		if !terminal {
			if said != "" {
				t.Errorf("without a terminal it says %q", said)
			}
			continue
		}
		for _, want := range []string{"\rlooked at 21 of 21\x1b[K", "\rrendered 20 of 21\x1b[K", "\rwrote 20 of 20\x1b[K"} {
			if !strings.Contains(said, want) {
				t.Errorf("says %q, without %q", said, want)
			}
		}
		if !strings.HasSuffix(said, "\r\x1b[K") {
			t.Errorf("does not wipe the line: %q", said)
		}
	}
}
