package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/internal/testenv"
)

// TestFix_Certain breaks one thing in random TrainJobs without a repairable mistake. A repair gives the TrainJob from before, or leaves
// the broken file as it is.
func TestFix_Certain(t *testing.T) {
	t.Parallel()
	cases, seed := testenv.Cases(t, 400), testenv.Seed(t)
	broken, repaired := map[string]int{}, map[string]int{}
	for n := range cases {
		f := &fixCase{t: t, dir: t.TempDir(), rng: rand.New(rand.NewPCG(seed, n))}
		f.write(seed<<32 + n)
		f.flags = []string{"--on-conflict=last", "--fix"}
		f.run("check", f.flags...)
		sound := string(f.read("job.yaml"))
		for i := range uint64(3) {
			kind, text := f.broken(sound, 3*n+i)
			if text == "" {
				continue
			}
			testenv.WriteIn(t, f.dir, "job.yaml", text)
			f.before = testenv.Tree(t, f.dir)
			found, _ := f.run("check", f.flags...)
			got := string(f.read("job.yaml"))
			broken[kind]++
			switch {
			case got == text:
			case !reflect.DeepEqual(decoded(t, got), decoded(t, sound)):
				t.Fatalf("case %d: %s: the repair gives another TrainJob:\n%s\n%v", n, kind, f.diff(), found)
			default:
				repaired[kind]++
			}
		}
	}
	t.Logf("broken: %v, repaired: %v", broken, repaired)
	for kind := range breaks() {
		if repaired[kind] == 0 && (broken[kind] == 0 || broken[kind] > 40) { // some kinds have one right repair in a tenth of all cases
			t.Errorf("of %d TrainJobs with %s none is repaired", broken[kind], kind)
		}
	}
}

func decoded(t *testing.T, text string) (fields any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &fields); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return fields
}

// spot is a field of an object, or an item of a list.
type spot struct {
	in    map[string]any // nil for an item
	of    string         // the field with the object, or with [] the list with the object as an item
	name  string
	value any
}

// spots returns the fields and items of an object, in the order of their names.
func spots(value any) []spot { return spotsOf("", value) }

func spotsOf(name string, value any) []spot {
	var all []spot
	switch v := value.(type) {
	case map[string]any:
		for _, field := range slices.Sorted(maps.Keys(v)) {
			all = append(append(all, spot{in: v, of: name, name: field, value: v[field]}), spotsOf(field, v[field])...)
		}
	case []any:
		for _, item := range v {
			all = append(append(all, spot{value: item}), spotsOf(name+"[]", item)...)
		}
	}
	return all
}

// breaks returns the ways to break a spot, by their names. Each reports whether it fits the spot.
func breaks() map[string]func(*rand.Rand, spot) bool {
	return map[string]func(*rand.Rand, spot) bool{
		"a misspelt field": func(rng *rand.Rand, s spot) bool {
			near := misspelt(rng, s.name)
			if _, taken := s.in[near]; near == "" || taken {
				return false
			}
			delete(s.in, s.name)
			s.in[near] = s.value
			return true
		},
		"a misspelt name": func(rng *rand.Rand, s spot) bool {
			name, _ := s.value.(string)
			near := misspelt(rng, name)
			if s.name != "name" || near == "" || strings.HasSuffix(s.of, "[]") && !slices.Contains([]string{"replicatedJobs[]", "containers[]", "initContainers[]"}, s.of) {
				return false // another item may have any name
			}
			s.in["name"] = near
			return true
		},
		"a quoted number or boolean": func(_ *rand.Rand, s spot) bool {
			switch s.value.(type) {
			case float64, bool:
				return s.set(fmt.Sprint(s.value))
			}
			return false
		},
		"a bare number or boolean": func(_ *rand.Rand, s spot) bool {
			text, _ := s.value.(string)
			var value any
			if json.Unmarshal([]byte(text), &value) != nil || value == nil {
				return false
			}
			if number, isNumber := value.(float64); isNumber && strconv.FormatFloat(number, 'f', -1, 64) != text {
				return false // the value would lose its form
			}
			return s.set(value)
		},
		"an object in place of its list": func(_ *rand.Rand, s spot) bool {
			list, _ := s.value.([]any)
			return len(list) == 1 && s.set(list[0])
		},
	}
}

// set sets a field, and reports whether it is one.
func (s spot) set(value any) bool {
	if s.in == nil {
		return false
	}
	s.in[s.name] = value
	return true
}

// misspelt returns a long word with one letter changed, or "".
func misspelt(rng *rand.Rand, word string) string {
	if len(word) < 4 {
		return ""
	}
	at := 1 + rng.IntN(len(word)-2)
	switch rng.IntN(3) {
	case 0:
		return word[:at] + word[at+1:]
	case 1:
		return word[:at] + word[at:at+1] + word[at:]
	default:
		return strings.TrimSuffix(word, word[len(word)-1:]) + "x"
	}
}

// broken returns the text of a TrainJob with one mistake, and its name. The kinds take turns by n. The text is empty if the mistake does
// not fit.
func (f *fixCase) broken(sound string, n uint64) (kind, text string) {
	kinds := slices.Sorted(maps.Keys(breaks()))
	kind = kinds[n%uint64(len(kinds))]
	if f.rng.IntN(6) == 0 && !strings.HasPrefix(sound, "{") {
		return "a duplicate field", f.repeated(sound)
	}
	fields := decoded(f.t, sound)
	all := spots(fields)
	for range 50 {
		if s := all[f.rng.IntN(len(all))]; breaks()[kind](f.rng, s) {
			data, err := yaml.Marshal(fields)
			if err != nil {
				f.t.Fatal(err)
			}
			if strings.HasPrefix(sound, "{") {
				if data, err = yaml.YAMLToJSON(data); err != nil {
					f.t.Fatal(err)
				}
			}
			return kind, string(data)
		}
	}
	return kind, ""
}

// repeated repeats a field with a plain value.
func (f *fixCase) repeated(sound string) string {
	lines := bytes.SplitAfter([]byte(sound), []byte("\n"))
	at := f.rng.IntN(len(lines))
	name, value, ok := strings.Cut(strings.TrimSpace(string(lines[at])), ": ")
	if !ok || strings.ContainsAny(name, `-"'`) || strings.ContainsAny(value, `|>{[&*`) {
		return ""
	}
	return string(bytes.Join(slices.Insert(slices.Clone(lines), at+1, lines[at]), nil))
}
