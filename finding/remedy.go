package finding

// Remedy says what to do about a finding. A program shows the text, adds words of its own, such as a flag, or
// carries out the action.
type Remedy struct {
	// Do is what to do, where a program can help with it.
	Do Action
	// Options are the choices. Each Action says of what kind they are.
	Options []string
	// Text is a sentence for people, without its final stop. It names no flag and no command.
	Text string
}

// Action is a kind of Remedy. Where nothing else is said, it is about the field of the finding.
type Action uint8

const (
	// Edit is the zero value: only Text says what to do.
	Edit Action = iota
	// SetValue gives the field a value. Options are the values that it takes, or a good one.
	SetValue
	// Remove takes the field away.
	Remove
	// Rename gives the field another name. Options are the names, the nearest first.
	Rename
	// Merge makes one item of two that the API takes for one.
	Merge
	// ChooseOne keeps one of several members. Options are their names.
	ChooseOne
	// LetOneWin settles a disagreement. Options are the managers, in the order of their patches.
	LetOneWin
	// Migrate rewrites the object for today's API.
	Migrate
	// Provide adds an input. Options are the kinds of objects to add.
	Provide
)
