package fuzz_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/internal/testenv"
)

// TestGeneratorsReachEveryRule counts how many cases exercise each rule of the merge. A generator
// that no longer reaches one would let the law about it pass for want of cases.
func TestGeneratorsReachEveryRule(t *testing.T) {
	if testenv.Race {
		t.Skip("counts generated inputs; nothing here runs concurrently")
	}
	t.Parallel()
	const seeds = 3000
	for name, mode := range map[string]struct {
		opts  fuzz.Options
		rules []map[string]func(*seen) bool
		first uint64 // few seeds after it reach every rule
	}{
		"Checked": {fuzz.Options{Checked: true}, []map[string]func(*seen) bool{common}, 1000},
		"Wild": {fuzz.Options{Directives: true}, []map[string]func(*seen) bool{common, wildOnly},
			2400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			count := map[string]int{}
			for i := range uint64(seeds) {
				if i%100 == 99 && !testenv.Long() && everyRule(count) {
					break
				}
				s := look(fuzz.Merge((mode.first+i)%seeds, mode.opts))
				for _, rules := range mode.rules {
					for rule, reached := range rules {
						if count[rule] > 0 && !testenv.Long() {
							continue
						}
						if reached(s) {
							count[rule]++
						} else {
							count[rule] += 0
						}
					}
				}
			}
			for _, rule := range slices.Sorted(maps.Keys(count)) {
				if count[rule] == 0 {
					t.Errorf("no case of %d reaches: %s", seeds, rule)
				}
				if testenv.Long() {
					t.Logf("%5d of %d: %s", count[rule], seeds, rule)
				}
			}
		})
	}
}

// everyRule reports whether every rule has been counted.
func everyRule(count map[string]int) bool {
	for _, n := range count {
		if n == 0 {
			return false
		}
	}
	return true
}

// seen is a case with the claims that a naive reader sees in it.
type seen struct {
	*fuzz.Case
	before  leaves
	patches []leaves
	json    []string // the patches' encodings
}

func look(c *fuzz.Case) *seen {
	s := &seen{Case: c, before: templateLeaves(c.Template)}
	for i := range c.Patches {
		s.patches = append(s.patches, patchLeaves(&c.Patches[i]))
		s.json = append(s.json, canonical(&c.Patches[i]))
	}
	return s
}

// claim finds a claim of any patch for which ok holds.
func (s *seen) claim(ok func(l leaf) bool) bool {
	return slices.ContainsFunc(s.patches, func(set leaves) bool { return some(set, ok) })
}

func some(set leaves, ok func(l leaf) bool) bool {
	for _, l := range set {
		if ok(l) {
			return true
		}
	}
	return false
}

// pair finds a claim of one patch and the claim of another on the same path.
func (s *seen) pair(ok func(a, b leaf) bool) bool {
	for i, mine := range s.patches {
		for j, theirs := range s.patches {
			if i != j && some(mine, func(l leaf) bool {
				their, both := theirs[l.path.String()]
				return both && ok(l, their)
			}) {
				return true
			}
		}
	}
	return false
}

func (s *seen) encoded(text string) bool {
	return slices.ContainsFunc(s.json, func(j string) bool { return strings.Contains(j, text) })
}

// union says whether two managers clash in a union whose path or members match the text.
func (s *seen) union(parts ...string) bool {
	return slices.ContainsFunc(clashes(s.Case.Patches), func(path string) bool {
		last := path[strings.LastIndex(path, ".")+1:]
		return slices.ContainsFunc(parts, func(part string) bool {
			return strings.HasPrefix(last, part)
		})
	})
}

func isElement(l leaf) bool {
	_, ok := l.path[len(l.path)-1].Element()
	return ok
}

func isItem(l leaf) bool {
	_, _, ok := l.path[len(l.path)-1].Item()
	return ok
}

// sibling says whether the template has another item in the list of the item.
func (s *seen) sibling(l leaf) bool {
	list := l.path[:len(l.path)-1]
	return some(s.before, func(b leaf) bool {
		return isItem(b) && len(b.path) == len(l.path) && b.path.HasPrefix(list)
	})
}

func holds(l leaf, field string) bool {
	return slices.ContainsFunc(l.path, func(s fieldpath.Step) bool {
		name, ok := s.Field()
		return ok && name == field
	})
}

var common = map[string]func(*seen) bool{
	"a null on a field that the runtime sets": func(s *seen) bool {
		return s.claim(func(l leaf) bool {
			was, ok := s.before[l.path.String()]
			return l.value == "null" && (ok && was.value != "null" || within(s.before, l.path))
		})
	},
	"a null on what another manager sets in part": func(s *seen) bool {
		return s.claim(func(l leaf) bool {
			return l.value == "null" && slices.ContainsFunc(s.patches, func(set leaves) bool {
				return within(set, l.path)
			})
		})
	},
	"a null that two managers share": func(s *seen) bool {
		return s.pair(func(a, b leaf) bool { return a.value == "null" && b.value == "null" })
	},
	"an empty struct": func(s *seen) bool {
		return s.claim(func(l leaf) bool {
			return l.value == present && !isItem(l) && !isElement(l)
		})
	},
	"an overlap with the runtime's own value": func(s *seen) bool {
		return s.pair(func(a, b leaf) bool {
			return a.value != b.value && s.before[a.path.String()].value == b.value
		})
	},
	"a set's element, by two": func(s *seen) bool {
		return s.pair(func(a, _ leaf) bool { return isElement(a) })
	},
	"a new item in front of others": func(s *seen) bool {
		return s.claim(func(l leaf) bool {
			_, ok := s.before[l.path.String()]
			return isItem(l) && !ok && s.sibling(l)
		})
	},
	"an item that two managers name": func(s *seen) bool {
		return s.pair(func(a, _ leaf) bool { return isItem(a) && len(a.path) > 6 })
	},
	"a union: a volume's source": func(s *seen) bool { return s.union("volumes[") },
	"a union: a variable":        func(s *seen) bool { return s.union("env[") },
	"a union: valueFrom":         func(s *seen) bool { return s.union("valueFrom") },
	"a union: a mount":           func(s *seen) bool { return s.union("volumeMounts[") },
}

var wildOnly = map[string]func(*seen) bool{
	// In one patch, check.Patches rejects a profile of the node with any other type. Such a clash
	// needs such a patch.
	"a union: a seccomp or AppArmor profile": func(s *seen) bool {
		return s.union("seccompProfile", "appArmorProfile")
	},
	"upstream refuses it": func(s *seen) bool {
		_, err := upstream(s.Case.Template, s.Case.Patches)
		return err != nil
	},
	"$patch: replace": func(s *seen) bool { return s.encoded(`"$patch":"replace"`) },
	"$patch: delete":  func(s *seen) bool { return s.encoded(`"$patch":"delete"`) },
	"$retainKeys":     func(s *seen) bool { return s.encoded(`"$retainKeys"`) },
	"$deleteFromPrimitiveList": func(s *seen) bool {
		return s.encoded(`"$deleteFromPrimitiveList/`)
	},
	"one name twice in a list": func(s *seen) bool {
		for i := range s.Case.Patches {
			if twice(&s.Case.Patches[i]) {
				return true
			}
		}
		return false
	},
}

// twice says whether a list of the patch names one job, volume or container twice.
func twice(p *trainer.RuntimePatch) bool {
	spec := specOf(p)
	if spec == nil {
		return false
	}
	for _, job := range items(decode(encode(spec)), "replicatedJobs") {
		pod, _ := dig(job, "template", "spec", "template", "spec")
		for _, list := range []string{"volumes", "containers", "initContainers"} {
			names := map[string]bool{}
			for _, item := range items(pod, list) {
				name := canonical(item["name"])
				if names[name] {
					return true
				}
				names[name] = true
			}
		}
	}
	return false
}
