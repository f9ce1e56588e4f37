package runtimepatch_test

// says is one manager's patch of the Pod's spec.
type says struct{ Manager, Patch string }

const (
	sdk   = "sdk.example/user"
	queue = "queue.example/admission"
	team  = "team.example/platform"
)
