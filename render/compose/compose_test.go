package compose_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/compose"
)

// value reads JSON.
func value(t testing.TB, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// claims returns the claims that texts such as kueue=[1] and runtime=null describe.
func claims(t testing.TB, texts ...string) []merge.Claim {
	t.Helper()
	var all []merge.Claim
	for _, text := range texts {
		name, of, _ := strings.Cut(text, "=")
		layer := merge.Manager(name)
		if name == "runtime" {
			layer = "runtime"
		}
		all = append(all, merge.Claim{Layer: layer, Value: value(t, of)})
	}
	return all
}

func TestRule_Compose(t *testing.T) {
	for _, tc := range []struct {
		reason string
		rule   compose.Rule
		claims []string
		want   string // as JSON, or the error
	}{
		{"a union is sorted, and an equal item is there once", compose.Rule{Kind: compose.KindUnion}, []string{`a=["SYS_PTRACE","IPC_LOCK"]`, `b=["NET_RAW","IPC_LOCK"]`}, `["IPC_LOCK","NET_RAW","SYS_PTRACE"]`},
		{"numbers sort by value", compose.Rule{Kind: compose.KindUnion}, []string{`a=[10,9]`, `b=[100]`}, `[9,10,100]`},
		{"the runtime takes part in a union", compose.Rule{Kind: compose.KindUnion}, []string{`runtime=["a"]`, `kueue=["b"]`}, `["a","b"]`},
		{"null adds nothing to a union", compose.Rule{Kind: compose.KindUnion}, []string{`runtime=["a"]`, `kueue=null`}, `["a"]`},
		{"no list has no union", compose.Rule{Kind: compose.KindUnion}, []string{`kueue=null`}, `null`},
		{"an empty list is a list", compose.Rule{Kind: compose.KindUnion}, []string{`kueue=[]`}, `[]`},
		{"a union of no list", compose.Rule{Kind: compose.KindUnion}, []string{`kueue={}`}, "a union of lists cannot take an object"},
		{"the default operator", tolerations(""), []string{`a=[{"key":"k","operator":"Equal"}]`, `b=[{"key":"k"}]`}, `[{"key":"k","operator":"Equal"}]`},
		{"a toleration keeps its form", tolerations(""), []string{`a=[{"key":"k","value":""}]`}, `[{"key":"k"}]`},
		{"seconds must agree", tolerations(""), []string{`a=[{"key":"k","tolerationSeconds":30}]`, `b=[{"key":"k"}]`}, `tolerations of the key "k" have different tolerationSeconds`},
		{"the maximum of seconds", tolerations(compose.KindMaximum), []string{`a=[{"key":"k","tolerationSeconds":30}]`, `b=[{"key":"k","operator":"Equal","tolerationSeconds":300}]`}, `[{"key":"k","operator":"Equal","tolerationSeconds":300}]`},
		{"no seconds are the maximum", tolerations(compose.KindMaximum), []string{`a=[{"key":"k","tolerationSeconds":30}]`, `b=[{"key":"k"}]`}, `[{"key":"k"}]`},
		{"another effect is another toleration", tolerations(""), []string{`a=[{"key":"k","effect":"NoSchedule"}]`, `b=[{"key":"k"}]`}, `[{"effect":"NoSchedule","key":"k"},{"key":"k"}]`},
		{"the maximum", compose.Rule{Kind: compose.KindMaximum}, []string{`runtime=30`, `a=600`, `b=60`}, `600`},
		{"the minimum with the runtime", compose.Rule{Kind: compose.KindMinimum}, []string{`runtime=30`, `a=600`, `b=60`}, `30`},
		{"null is not zero", compose.Rule{Kind: compose.KindMinimum}, []string{`runtime=30`, `a=null`}, `30`},
		{"quantities", compose.Rule{Kind: compose.KindMaximum}, []string{`a="1500m"`, `b="1"`, `c=1`}, `"1500m"`},
		{"equal quantities", compose.Rule{Kind: compose.KindMaximum}, []string{`a="1024Mi"`, `b="1Gi"`}, `"1Gi"`},
		{"not a quantity", compose.Rule{Kind: compose.KindMaximum}, []string{`a="much"`}, "the value is not a quantity"},
		{"not a number", compose.Rule{Kind: compose.KindMaximum}, []string{`a=true`}, "a comparison of numbers cannot take a boolean"},
		{"managers agree, and change the runtime", compose.Rule{Kind: compose.KindAgree}, []string{`runtime="x"`, `a="y"`, `b="y"`}, `"y"`},
		{"managers differ", compose.Rule{Kind: compose.KindAgree}, []string{`a="x"`, `b=null`}, "managers must set the same value"},
		{"the owner's value", compose.Rule{Kind: compose.KindOwner, Owner: "kueue"}, []string{`a="x"`, `kueue="y"`, `b="z"`}, `"y"`},
		{"the owner sets nothing", compose.Rule{Kind: compose.KindOwner, Owner: "kueue"}, []string{`runtime="x"`, `a="x"`}, "only kueue may set the field"},
		{"nothing is set", compose.Rule{Kind: compose.KindOwner, Owner: "kueue"}, []string{`runtime="x"`}, `null`},
		{"no kind", compose.Rule{}, []string{`a="x"`}, `unknown kind of rule ""`},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			got, err := tc.rule.Compose(claims(t, tc.claims...)...)
			text, _ := json.Marshal(got)
			if err != nil {
				text = []byte(err.Error())
			}
			if diff := cmp.Diff(tc.want, string(text)); diff != "" {
				t.Errorf("Compose(%q) (-want +got):\n%s", tc.claims, diff)
			}
		})
	}
}

// tolerations returns the union of tolerations.
func tolerations(seconds compose.Kind) compose.Rule {
	return compose.Rule{Kind: compose.KindUnion, Path: fieldpath.Fields("spec", "tolerations"), Seconds: seconds}
}

func TestRule_IsSame(t *testing.T) {
	for _, tc := range []struct {
		reason string
		rule   compose.Rule
		a, b   string
		want   bool
	}{
		{"the order of a union", compose.Rule{Kind: compose.KindUnion}, `["a","b"]`, `["b","a"]`, true},
		{"another item", compose.Rule{Kind: compose.KindUnion}, `["a","b"]`, `["c","a"]`, false},
		{"a repeated term counts twice", compose.Rule{Kind: compose.KindUnion}, `["a","a"]`, `["a"]`, false},
		{"the default operator", tolerations(""), `[{"key":"k"}]`, `[{"key":"k","operator":"Equal","value":""}]`, true},
		{"other seconds", tolerations(""), `[{"key":"k"}]`, `[{"key":"k","tolerationSeconds":1}]`, false},
		{"no list", compose.Rule{Kind: compose.KindUnion}, `null`, `[]`, false},
		{"the order of a command", compose.Rule{Kind: compose.KindAgree}, `["a","b"]`, `["b","a"]`, false},
	} {
		if got := tc.rule.IsSame(value(t, tc.a), value(t, tc.b)); got != tc.want {
			t.Errorf("%s: IsSame(%s, %s) = %v, want %v", tc.reason, tc.a, tc.b, got, tc.want)
		}
	}
}

func TestRules_For(t *testing.T) {
	path := func(text string) fieldpath.Path {
		p, err := fieldpath.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	rules := compose.Rules{
		{Path: path(`.jobs[name=""].tolerations`), Kind: compose.KindUnion},
		{Path: path(`.jobs[name=""].labels`), Kind: compose.KindAgree},
		{Path: path(`.jobs[name=""].labels["queue"]`), Kind: compose.KindOwner, Owner: "kueue"},
		{Path: path(`.jobs[name="node"].tolerations`), Kind: compose.KindAgree},
	}
	for field, want := range map[string]compose.Kind{
		`.jobs[name="node"].tolerations`:        compose.KindUnion,
		`.jobs[name="node"].tolerations[0]`:     compose.KindAgree,
		`.jobs[name="node"].labels["app"]`:      compose.KindAgree,
		`.jobs[name="node"].labels["queue"]`:    compose.KindOwner,
		`.jobs[name="node"].labels`:             compose.KindAgree,
		`.jobs[name="node"]`:                    "",
		`.jobs[name="node"].template.labels[a]`: "",
	} {
		rule, ok := rules.For(path(field))
		if rule.Kind != want || ok != (want != "") {
			t.Errorf("For(%s) = %q, %v, want %q", field, rule.Kind, ok, want)
		}
	}
}
