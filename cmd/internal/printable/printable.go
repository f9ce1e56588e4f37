// Package printable answers which text a terminal, a log and a page may
// show. Inputs may hold control characters, characters that change the writing direction, invalid
// UTF-8, and commands of workflow runners.
//
//	fmt.Fprintln(w, printable.Line(message))
//	fmt.Fprintln(w, "wrote", printable.Name(file))
//
// Reports and pages share these rules.
package printable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/trainweld/trainweld/fieldpath"
)

// String makes text safe for a terminal and for a line of a log. It writes each character that
// [Shows] rejects as a Go escape, such as line ends and characters that change the writing
// direction. It writes invalid UTF-8 as U+FFFD. It breaks the marks that workflow runners recognize
// anywhere in a line.
func String(text string) string {
	if !isPrintable(text) {
		var b strings.Builder
		for _, r := range text {
			if Shows(r) {
				b.WriteRune(r)
			} else {
				b.WriteString(escape(r))
			}
		}
		text = b.String()
	}
	for _, mark := range marks {
		text = strings.ReplaceAll(text, mark, `#\x23`+mark[2:])
	}
	return text
}

// Name makes the name of a file safe, as git does in its output. It quotes a name with a control
// character, another one that no report shows, a quote or a backslash. The quotes are double, with
// the escapes of C. Windows separates folders with backslashes.
func Name(name string) string {
	isSeparator := filepath.Separator == '\\'
	if String(name) == name && !strings.Contains(name, `"`) &&
		(isSeparator || !strings.Contains(name, `\`)) {
		return name
	}
	return Quoted(name)
}

// Quoted is Name with the quotes for every name, for one within a sentence.
func Quoted(name string) string {
	quoted := []byte{'"'}
	for i, size := 0, 0; i < len(name); i += size {
		var r rune
		r, size = utf8.DecodeRuneInString(name[i:])
		short := strings.IndexRune("\a\b\t\n\v\f\r", r)
		switch {
		case r == '"', r == '\\':
			quoted = append(quoted, '\\', byte(r))
		case short >= 0:
			quoted = append(quoted, '\\', "abtnvfr"[short])
		case r == utf8.RuneError && size == 1, !Shows(r), StartsCommand(name[i:]):
			for _, c := range []byte(name[i : i+size]) {
				quoted = fmt.Appendf(quoted, `\%03o`, c)
			}
		default:
			quoted = append(quoted, name[i:i+size]...)
		}
	}
	return string(append(quoted, '"'))
}

// Position returns a position with the name of its file as [Name] writes it.
func Position(p fieldpath.Position) string {
	p.File = Name(p.File)
	return p.String()
}

// Error returns the text of an error with the name of its file as [Name] writes it.
func Error(err error) string {
	text := err.Error()
	var file *fs.PathError
	if errors.As(err, &file) {
		text = strings.ReplaceAll(text, file.Path, Name(file.Path))
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		text = strings.NewReplacer(link.Old, Name(link.Old), link.New, Name(link.New)).Replace(text)
	}
	return text
}

// marks start commands of GitHub, Azure Pipelines and TeamCity anywhere in a line.
var marks = [...]string{"##[", "##vso[", "##teamcity["}

// StartsCommand reports whether text starts with a mark that runners recognize.
func StartsCommand(text string) bool {
	return slices.ContainsFunc(marks[:], func(mark string) bool {
		return strings.HasPrefix(text, mark)
	})
}

// Line is String for the start of a line. Runners skip blanks before the colons of a command.
func Line(text string) string {
	text = String(text)
	if trimmed := strings.TrimLeftFunc(text, unicode.IsSpace); strings.HasPrefix(trimmed, "::") {
		return text[:len(text)-len(trimmed)] + `\x3a` + trimmed[1:]
	}
	return text
}

func isPrintable(text string) bool {
	return utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool {
		return !Shows(r)
	}) < 0
}

// Shows reports whether a character may be written unchanged. It rejects what Unicode does not
// count as graphic, and letters without a form, such as the Hangul filler: two names that differ in
// one look the same. Spaces of any width, and marks that belong to the character before, are shown.
func Shows(r rune) bool {
	return unicode.IsGraphic(r) && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}

func escape(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\t':
		return `\t`
	case r == '\r':
		return `\r`
	case r <= 0xff:
		return fmt.Sprintf(`\x%02x`, r)
	case r <= 0xffff:
		return fmt.Sprintf(`\u%04x`, r)
	default:
		return fmt.Sprintf(`\U%08x`, r)
	}
}
