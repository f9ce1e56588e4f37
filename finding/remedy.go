package finding

import "github.com/trainweld/trainweld/fieldpath"

// Remedy is the fix for a finding. A program shows the text, adds its own words, such as a flag, or
// performs the action.
type Remedy struct {
	// Do is the action, if a program can help with it.
	Do Action
	// Options are the choices. Their kind depends on the Action.
	Options []string
	// Path is the field of the object to change, if it is not the finding's.
	Path fieldpath.Path
	// IsCertain marks the one right fix. A program may perform it without a question.
	IsCertain bool
	// Text is a sentence for people, without its final stop. It names no flag and no command.
	Text string
}

// Action is a kind of Remedy. By default it acts on the field of the finding.
type Action uint8

const (
	// Edit is the zero value: only Text describes the fix.
	Edit Action = iota
	// SetValue sets the field. Options are its valid values, or a good one. That of a certain fix
	// is YAML: 8 is a number.
	SetValue
	// Quote makes the value a string of the same characters.
	Quote
	// Remove removes the field.
	Remove
	// Rename gives the field another name. Options are the names, the nearest first.
	Rename
	// Move moves the field to another one. The option is its path, as fieldpath.ParsePath reads it.
	Move
	// Merge combines two items that the API treats as one.
	Merge
	// ChooseOne keeps one of several members. Options are their names.
	ChooseOne
	// LetOneWin settles a disagreement. Options are the managers, in the order of their patches.
	LetOneWin
	// Migrate rewrites the object for today's API.
	Migrate
	// Provide adds an input. Options are the kinds of objects to add.
	Provide
	// Omit omits an input that belongs to another program.
	Omit
)
