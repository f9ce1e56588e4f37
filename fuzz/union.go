package fuzz

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
)

// A union is a struct of which one member may be set. Items of one name mostly keep to one member
// throughout a case, since frequent clashes would hide everything else.

// favourite returns the member that the name prefers in this case. It is any number, to be taken
// modulo the number of members.
func (s *source) favourite(name string) int {
	if _, ok := s.hints[name]; !ok {
		s.hints[name] = s.rng.IntN(1 << 16)
	}
	restless := 0.15
	if s.theme != nil {
		restless = 0.4
	}
	if s.chance(restless) {
		return s.rng.IntN(1 << 16)
	}
	return s.hints[name]
}

// commonSources are more frequent than the other two dozen.
var commonSources = [...]string{"EmptyDir", "ConfigMap", "PersistentVolumeClaim", "Projected",
	"Ephemeral", "ScaleIO", "RBD", "EmptyDir"}

// volumeSource sets the favorite source of the volume's name, another one, none, or, unchecked,
// two. A case is about four kinds of source or about one.
func (s *source) volumeSource(p *corev1.VolumeSource, name string) {
	v := reflect.ValueOf(p).Elem()
	var kinds [4]int
	alike := s.theme != nil && s.hint("alike", 0)%3 == 0
	for i := range kinds {
		hint := s.hint("source", i)
		if alike {
			hint = s.hint("source", 0)
		}
		kinds[i] = hint % v.NumField()
		name := commonSources[hint%len(commonSources)]
		for _, themed := range []string{"ScaleIO", "Ephemeral"} {
			if s.theme[themed] {
				name, alike = themed, true
			}
		}
		if i%2 == 0 || alike {
			f, _ := v.Type().FieldByName(name)
			kinds[i] = f.Index[0]
		}
	}
	n := s.weighted(3, 97)
	if !s.checked {
		n = s.weighted(4, 86, 10)
	}
	for range n {
		s.value(v.Field(kinds[s.favourite("volume "+name)%len(kinds)]), site{v.Type(), "source"})
	}
}

// hint returns a number that stays the same throughout a case.
func (s *source) hint(name string, i int) int {
	key := name + string(rune('0'+i))
	if _, ok := s.hints[key]; !ok {
		s.hints[key] = s.rng.IntN(1 << 16)
	}
	return s.hints[key]
}

// envVar sets a name and, mostly, a value or its source.
func (s *source) envVar(p *corev1.EnvVar) {
	t := reflect.TypeFor[corev1.EnvVar]()
	s.value(of(&p.Name), site{t, "name"})
	both := 0.06
	if s.checked {
		both = 0.002
	}
	from := s.favourite("env "+p.Name)%3 == 0
	if s.theme["valueFrom"] {
		from = s.favourite("env "+p.Name)%3 > 0
	}
	if !from || s.chance(both) {
		s.value(of(&p.Value), site{t, "value"})
	}
	if from || s.chance(both) {
		s.value(of(&p.ValueFrom), site{t, "valueFrom"})
	}
}

// oneOf sets one member of the struct, sometimes none. Unless checked, it sets a second one with
// the given probability.
func (s *source) oneOf(v reflect.Value, favourite int, second float64) {
	if s.chance(0.05) {
		return
	}
	n := v.NumField()
	s.value(v.Field(favourite%n), site{v.Type(), ""})
	if !s.checked && s.chance(second) {
		s.value(v.Field(s.rng.IntN(n)), site{v.Type(), ""})
	}
}

// volumeMount sets a mount. If checked, the mount has at most one of subPath and subPathExpr.
func (s *source) volumeMount(v reflect.Value, p *corev1.VolumeMount) {
	s.structure(v)
	if !s.checked && s.chance(0.1) {
		return
	}
	if s.favourite("mount "+p.MountPath)%2 == 0 {
		p.SubPath = ""
	} else {
		p.SubPathExpr = ""
	}
}

// profile returns the path of a profile on the node, if its type requires one.
func (s *source) profile(local bool) *string {
	likely := 0.15
	switch {
	case local:
		likely = 0.8
	case s.checked:
		likely = 0.02
	}
	if !s.chance(likely) {
		return nil
	}
	path := pick(s, "p1", "p1", "p2", "")
	return &path
}
