package fuzz_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/legacy"
	"github.com/trainweld/trainweld/render/manifest"
)

// TestRewrite rewrites the text of generated TrainJobs with comments wherever a line can have one.
// The new text reads as intended. It has every comment, and every line that is not of an old field.
func TestRewrite(t *testing.T) {
	t.Parallel()
	rewritten := 0
	for seed := range uint64(cases(t) / 20) {
		done, broken := rewrite(t, seed)
		if broken != "" {
			t.Fatalf("old pair %d: %s", seed, broken)
		}
		if done {
			rewritten++
		}
	}
	if n := cases(t) / 20; rewritten < n/2 {
		t.Errorf("%d of %d TrainJobs were rewritten", rewritten, n)
	}
}

func rewrite(t *testing.T, seed uint64) (done bool, broken string) {
	t.Helper()
	pair := fuzz.Old(seed)
	old := &legacy.TrainJob{TypeMeta: pair.TrainJob.TypeMeta, ObjectMeta: pair.TrainJob.ObjectMeta}
	old.Spec = legacy.TrainJobSpec{TrainJobSpec: pair.TrainJob.Spec, Overrides: *pair.Overrides}
	var plain bytes.Buffer
	if err := manifest.Encode(&plain, manifest.YAML, old); err != nil {
		t.Fatal(err)
	}
	text, comments := commented(plain.String(), rand.New(rand.NewPCG(seed, 4)))
	documents, findings := manifest.Decode("f", []byte(text))
	if err := findings.Err(); err != nil {
		return false, fmt.Sprintf("%v\n%s", err, text)
	}
	d := documents[0]
	if d.Overrides == nil {
		return false, ""
	}
	m := render.Migrate(render.Input{TrainJob: pair.TrainJob}, d.Overrides, migrateManager)
	if m.TrainJob == nil {
		return false, ""
	}
	objects := []manifest.Rewriting{d.Migration(m.TrainJob.Spec.RuntimePatches)}
	edits, err := manifest.Rewrite(objects), objects[0].Err
	if err != nil {
		return false, fmt.Sprintf("%v\n%s", err, text)
	}
	made := string(manifest.ApplyEdits([]byte(text), edits))
	documents, findings = manifest.Decode("f", []byte(made))
	if findings.Err() != nil || len(documents) != 1 {
		return false, fmt.Sprintf("%v\n%s", findings, made)
	}
	got := documents[0].Object.(*trainer.TrainJob)
	if diff := cmp.Diff(encoded(t, m.TrainJob), encoded(t, got)); diff != "" {
		return false, fmt.Sprintf("it reads as something else\n%s\n%s\n%s", diff, text, made)
	}
	for _, comment := range comments {
		// what said nothing goes with its comments
		if m.TrainJob.Spec.RuntimePatches != nil && !strings.Contains(made, comment) {
			return false, fmt.Sprintf("%s is lost\n%s\n%s", comment, text, made)
		}
	}
	return true, ""
}

func encoded(t *testing.T, object any) string {
	t.Helper()
	var b bytes.Buffer
	if err := manifest.Encode(&b, manifest.YAML, object); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// commented puts comments on lines of their own before some lines, and behind some others.
func commented(text string, rng *rand.Rand) (with string, comments []string) {
	var b strings.Builder
	block := -1 // the indentation of a literal block's key, in which nothing is a comment
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		deep := len(line) - len(strings.TrimLeft(line, " "))
		if block >= 0 && (deep > block || strings.TrimSpace(line) == "") {
			b.WriteString(line + "\n")
			continue
		}
		block = -1
		next := func() string {
			comments = append(comments, fmt.Sprintf("# comment-%d.", len(comments)))
			return comments[len(comments)-1]
		}
		if rng.IntN(4) == 0 {
			b.WriteString(strings.Repeat(" ", deep) + next() + "\n")
		}
		b.WriteString(line)
		opens := strings.HasSuffix(line, "|") || strings.HasSuffix(line, "|-") ||
			strings.HasSuffix(line, "|+")
		if rng.IntN(4) == 0 && !opens {
			b.WriteString(" " + next())
		}
		b.WriteString("\n")
		if rng.IntN(12) == 0 && !opens {
			b.WriteString("\n")
		}
		if opens {
			block = deep
		}
	}
	return b.String(), comments
}
