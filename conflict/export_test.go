package conflict

import "github.com/trainweld/trainweld/fieldpath"

// Against gives tests the fields that have to go for a manager to win.
func (c Conflict) Against(manager string) []fieldpath.Path { return c.against(manager) }
