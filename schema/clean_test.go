package schema_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/schema"
)

// TestCheckSparesNoFinding compares Check with the walk by the schema that it spares most inputs.
func TestCheckSparesNoFinding(t *testing.T) {
	next := rand.New(rand.NewPCG(testenv.Seed(t), 5))
	clean, found := 0, 0
	for i := range 2000 {
		opts := []fuzz.Options{{}, {Checked: true, Least: 1}, {Directives: true}, {Tidy: true}}[i%4]
		c := fuzz.Merge(next.Uint64(), opts)
		want, got := schema.CheckBySchema(c.Template, c.Patches), schema.Check(c.Template, c.Patches)
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("case %d (%+v): the walk by the schema finds\n%v\nand Check finds\n%v", c.Seed, opts, want, got)
		}
		if want != nil {
			found++
		} else if schema.AreClean(c.Template, c.Patches) {
			clean++
		}
	}
	if clean < 20 || found < 500 {
		t.Errorf("%d cases passed for clean and %d had findings: one of the two was hardly looked at", clean, found)
	}
	t.Logf("%d cases passed for clean, %d had findings", clean, found)
}

// TestCheckAllocatesOnce holds that Check takes no memory but for its own state where it has nothing to say.
func TestCheckAllocatesOnce(t *testing.T) {
	runtime := template(t, runtimePod)
	patches := []trainer.RuntimePatch{
		podPatch(t, "a.example.com/x", `{nodeSelector: {pool: a}, schedulingGates: [{name: a}], volumes: [{name: a, secret: {secretName: a}}]}`),
		podPatch(t, "b.example.com/x", `{containers: [{name: metrics, env: [{name: LEVEL, value: debug}], volumeMounts: [{name: b, mountPath: /b}]}]}`),
	}
	if found := schema.Check(runtime, patches); found != nil {
		t.Fatal(found)
	}
	if n := testing.AllocsPerRun(20, func() { schema.Check(runtime, patches) }); n > 1 {
		t.Errorf("Check allocates %v times to say that there is nothing to report", n)
	}
}
