package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manPage returns the page of a command in the macros of man(7), with the content of the command's help.
func manPage(cmd *cobra.Command, version string, at time.Time) string {
	cmd.InitDefaultHelpFlag()
	var b strings.Builder
	name := roff(pageName(cmd))
	fmt.Fprintf(&b, ".TH %s 1 %s \"trainweld %s\"\n", strings.ToUpper(name), roff(at.UTC().Format(time.DateOnly)), roff(version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", name, roff(cmd.Short))
	b.WriteString(".SH SYNOPSIS\n")
	for _, line := range synopsis(cmd) {
		fmt.Fprintf(&b, ".B %s\n%s\n.br\n", roff(cmd.CommandPath()), roff(line))
	}
	fmt.Fprintf(&b, ".SH DESCRIPTION\n%s", paragraphs(cmp.Or(cmd.Long, cmd.Short+".")))
	if cmd.HasAvailableSubCommands() {
		b.WriteString(".SH COMMANDS\n")
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(c.Name()), roff(c.Short))
			}
		}
	}
	b.WriteString(".SH OPTIONS\n")
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { b.WriteString(option(f)) })
	if cmd.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n%s", literal(strings.Split(cmd.Example, "\n")))
	}
	if related := relatedPages(cmd); len(related) > 0 {
		fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", strings.Join(related, "\n"))
	}
	return b.String()
}

// pageName returns the name of a command's page.
func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// synopsis returns what may follow the command's name.
func synopsis(cmd *cobra.Command) []string {
	var lines []string
	if cmd.Runnable() {
		lines = append(lines, strings.TrimSpace(strings.TrimPrefix(cmd.UseLine(), cmd.CommandPath())))
	}
	if cmd.HasAvailableSubCommands() {
		lines = append(lines, "[command]")
	}
	return lines
}

// paragraphs returns help as paragraphs. Indented lines, such as tables, keep their breaks.
func paragraphs(help string) string {
	var b strings.Builder
	for _, block := range strings.Split(help, "\n\n") {
		var table []string
		b.WriteString(".PP\n")
		for _, line := range strings.Split(strings.Trim(block, "\n"), "\n") {
			if indented := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t"); indented {
				table = append(table, line)
				continue
			}
			b.WriteString(literal(table) + roff(line) + "\n")
			table = nil
		}
		b.WriteString(literal(table))
	}
	return b.String()
}

// literal returns lines in a font of one width, with their breaks.
func literal(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	escaped := make([]string, len(lines))
	for i, line := range lines {
		escaped[i] = roff(strings.ReplaceAll(line, "\t", "    "))
	}
	return ".PP\n.EX\n" + strings.Join(escaped, "\n") + "\n.EE\n"
}

// option returns the entry of a flag, or nothing for a hidden one.
func option(f *pflag.Flag) string {
	if f.Hidden || f.Deprecated != "" {
		return ""
	}
	value, usage := pflag.UnquoteUsage(f)
	names := `\fB\-\-` + roff(f.Name) + `\fR`
	if f.Shorthand != "" {
		names = `\fB\-` + roff(f.Shorthand) + `\fR, ` + names
	}
	if value != "" {
		joint := " "
		if f.NoOptDefVal != "" {
			joint = "="
		}
		names += joint + `\fI` + roff(value) + `\fR`
	}
	switch f.DefValue {
	case "", "false", "0", "[]":
	default:
		usage += " (default " + f.DefValue + ")"
	}
	return ".TP\n" + names + "\n" + roff(usage) + "\n"
}

// relatedPages names the pages of the parent and of the subcommands.
func relatedPages(cmd *cobra.Command) []string {
	var pages []string
	if cmd.HasParent() {
		pages = append(pages, pageName(cmd.Parent()))
	}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			pages = append(pages, pageName(c))
		}
	}
	for i, name := range pages {
		end := ","
		if i == len(pages)-1 {
			end = ""
		}
		pages[i] = ".BR " + roff(name) + " (1)" + end
	}
	return pages
}

// special are the characters that roff would replace or execute.
var special = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`)

// roff escapes a line of text. A line must not start with a control character.
func roff(line string) string {
	line = special.Replace(strings.ReplaceAll(line, "\n", " "))
	if strings.HasPrefix(line, ".") {
		return `\&` + line
	}
	return line
}
