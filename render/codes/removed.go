package codes

import "github.com/trainweld/trainweld/finding"

// Removed says what to use instead of a code that the last release had. It returns "" for other
// codes. A code goes from here with the release after the one that removes it.
func Removed(code finding.Code) (instead string) {
	switch code {
	case "TW126":
		return "a build runs no program: pass the output of another one through a pipe"
	case "TW235", "TW309", "TW310", "TW311", "TW312":
		return "no rule composes values: TW300 reports managers that disagree"
	case "TW308":
		return "no other orders are tried: combine the variables in the command"
	case "TW827", "TW828":
		return "migrate makes a runtime for each training job"
	case "TW810", "TW811", "TW812":
		return "no command repairs files: the remedy of a finding in JSON names the change"
	}
	return ""
}
