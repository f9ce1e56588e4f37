package finding

// Code is the stable name of a kind of finding: TW and a number. The table render/codes/codes.txt defines and explains each
// code. The first digit is the stage. Stage 1 is reading, 2 the check of the patches, 3 the merge with its conflicts, and 4
// rendering. Stage 5 is admission, 6 later rejections by the API server, 7 updates, and 8 rewriting.
type Code string

// IsDispute reports whether a finding with the code is about opposing values of managers. The cluster drops some of the values, or
// keeps too many.
func (c Code) IsDispute() bool {
	switch c {
	case CodeOverlap, CodeUnion, CodeNotComposed, CodeNoComposition:
		return true
	}
	return false
}

// AssumesRuntime reports whether the finding notes a runtime that the inputs lack. The runtime comes from a release of the Trainer
// instead. A report shows the finding once, among notes as among other findings. A strict run fails on it, because a cluster may
// have changed the runtime.
func (f Finding) AssumesRuntime() bool { return f.Code == CodeNoRuntime && f.Severity == Note }
