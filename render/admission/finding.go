package admission

import (
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
)

// findings collects findings in their order of discovery, each once.
type findings struct {
	all   finding.List
	index findingIndex
}

// findingIndex finds findings by object, field, code and claim. It indexes the list lazily.
type findingIndex struct {
	indexed int // number of indexed findings
	at      map[codeRef]int
	keys    map[codes.Key]int
	caused  map[consequence]int
	errors  map[fieldRef][]int // positions in the list
	// positions of errors in a JobSet or a PodGroup, by the last claim
	claims map[claimed][]int
	// number of errors at the field or within it; nil before the first use
	errorsWithin map[fieldRef]int
	paths        map[string]int // number of errors at the path, in any object
}

// fieldRef is a field of an object. place is a code at such a field.
type (
	fieldRef struct {
		object fieldpath.Object
		path   string
	}
	codeRef struct {
		fieldRef
		code finding.Code
	}
	claimed struct {
		layer  merge.Owner
		source string
	}
	// consequence is the effect of one input field on any number of fields and objects.
	consequence struct {
		code    finding.Code
		message string
		from    claimed
	}
)

func fieldRefOf(f finding.Finding) fieldRef { return fieldRef{f.Object, f.Path.String()} }

// catchUp indexes the new findings.
func (fs *findings) catchUp() *findingIndex {
	x := &fs.index
	if x.at == nil {
		x.at, x.keys, x.errors = map[codeRef]int{}, map[codes.Key]int{}, map[fieldRef][]int{}
		x.caused, x.claims, x.paths = map[consequence]int{}, map[claimed][]int{}, map[string]int{}
	}
	for ; x.indexed < len(fs.all); x.indexed++ {
		x.count(fs.all[x.indexed], x.indexed, 1)
	}
	return x
}

// count adds a finding to the index, or removes it if by is -1.
func (x *findingIndex) count(f finding.Finding, i, by int) {
	k := codes.KeyOf(f)
	at := codeRef{fieldRef{f.Object, k.Path}, f.Code}
	x.at[at] += by
	x.keys[k] += by
	if len(f.Claims) > 0 {
		x.caused[consequenceOf(f)] += by
	}
	if f.Severity != finding.Error {
		return
	}
	x.errors[at.fieldRef] = updatePositions(x.errors[at.fieldRef], i, by)
	x.paths[at.path] += by
	if (f.Object.Kind == "JobSet" || f.Object.Kind == "PodGroup") && len(f.Claims) > 0 {
		last := claimOf(f.Claims[len(f.Claims)-1])
		x.claims[last] = updatePositions(x.claims[last], i, by)
	}
	if x.errorsWithin != nil {
		x.countWithin(f, by)
	}
}

func consequenceOf(f finding.Finding) consequence {
	return consequence{f.Code, f.Message, claimOf(f.Claims[len(f.Claims)-1])}
}

func claimOf(c merge.Claim) claimed { return claimed{c.Owner, c.At.String()} }

// updatePositions adds a position to a list, or removes it if by is -1.
func updatePositions(list []int, i, by int) []int {
	if by > 0 {
		return append(list, i)
	}
	return slices.DeleteFunc(list, func(k int) bool { return k == i })
}

func (x *findingIndex) countWithin(f finding.Finding, by int) {
	for n := range len(f.Path) + 1 {
		x.errorsWithin[fieldRef{f.Object, f.Path[:n].String()}] += by
	}
}

// change changes a finding in the list, and its index.
func (fs *findings) change(i int, to func(*finding.Finding)) {
	x := fs.catchUp()
	x.count(fs.all[i], i, -1)
	to(&fs.all[i])
	x.count(fs.all[i], i, 1)
}

// add adds findings and skips duplicates: the stages overlap, as the cluster's do.
func (fs *findings) add(found ...finding.Finding) {
	for _, f := range found {
		x := fs.catchUp()
		k := codes.KeyOf(f)
		// A key without a message decides alone.
		if x.keys[k] == 0 &&
			(k.Message == "" || len(f.Claims) == 0 || x.caused[consequenceOf(f)] == 0) {
			fs.all = append(fs.all, f)
		}
	}
}

// reject adds an error.
func (fs *findings) reject(code finding.Code, object fieldpath.Object, path fieldpath.Path, message,
	help string) {
	fs.add(finding.Finding{Code: code, Severity: finding.Error, Object: object, Path: path,
		Message: message, Remedy: finding.Remedy{Text: help}})
}

// has reports whether there is an error at the path of the object, or above it.
func (fs *findings) has(object fieldpath.Object, path fieldpath.Path, codes ...finding.Code) bool {
	return fs.firstError(object, path, func(f *finding.Finding) bool {
		return len(codes) == 0 || slices.Contains(codes, f.Code)
	}) >= 0
}

// firstError returns the position of the first error at the path of the object or above it, or -1.
// The error must meet the condition.
func (fs *findings) firstError(object fieldpath.Object, path fieldpath.Path,
	meets func(*finding.Finding) bool) int {
	first := -1
	for n := range len(path) + 1 {
		if i := fs.errorAt(fieldRef{object, path[:n].String()}, meets); first < 0 ||
			i >= 0 && i < first {
			first = i
		}
	}
	return first
}

// errorAt returns the position of the first error at a field that meets the condition, or -1.
func (fs *findings) errorAt(at fieldRef, meets func(*finding.Finding) bool) int {
	first := -1
	for _, i := range fs.catchUp().errors[at] {
		if (first < 0 || i < first) && meets(&fs.all[i]) {
			first = i
		}
	}
	return first
}

// errorAbove reports whether any object has an error at the path or above it. It ignores errors at
// the first steps.
func (fs *findings) errorAbove(path fieldpath.Path, except int) bool {
	x := fs.catchUp()
	for n := except + 1; n <= len(path); n++ {
		if x.paths[path[:n].String()] > 0 {
			return true
		}
	}
	return false
}

// claimed returns the position of the first error in a JobSet or a PodGroup with this last claim,
// or -1. It compares layer and source.
func (fs *findings) claimed(c merge.Claim) int {
	if known := fs.catchUp().claims[claimOf(c)]; len(known) > 0 {
		return slices.Min(known)
	}
	return -1
}

// errorWithin reports whether there is an error at the path of the object or within it.
func (fs *findings) errorWithin(object fieldpath.Object, path fieldpath.Path) bool {
	x := fs.catchUp()
	if x.errorsWithin == nil {
		x.errorsWithin = map[fieldRef]int{}
		for _, f := range fs.all {
			if f.Severity == finding.Error {
				x.countWithin(f, 1)
			}
		}
	}
	return x.errorsWithin[fieldRef{object, path.String()}] > 0
}

// reported reports whether there is a finding of the same code at the path of the object or above
// it.
func (fs *findings) reported(f finding.Finding) bool {
	x := fs.catchUp()
	for n := range len(f.Path) + 1 {
		if x.at[codeRef{fieldRef{f.Object, f.Path[:n].String()}, f.Code}] > 0 {
			return true
		}
	}
	return false
}
