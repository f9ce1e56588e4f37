package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/process"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/fieldpath/printable"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// dirPlaceholder stands for the directory in a command.
const dirPlaceholder = "{}"

// splitCommand splits a command at spaces. No shell reads it.
func splitCommand(command string) ([]string, error) {
	words := strings.Fields(command)
	if len(words) == 0 || !strings.Contains(strings.Join(words[1:], " "), dirPlaceholder) {
		return nil, fmt.Errorf("--build: %q has no placeholder for the directory: add %s, as in 'helm template %s'", command, dirPlaceholder, dirPlaceholder)
	}
	return words, nil
}

// runCommand builds a directory by the user's command, in a copy of the tree.
func (b *Builder) runCommand(built *workspace.Built) {
	fail := func(code finding.Code, message, help string) {
		built.Findings = append(built.Findings, failure(code, fieldpath.Position{File: built.File}, message, help))
	}
	built.File = b.fileOf(built.Dir)
	folder, dir, err := b.copy.workingDir(built.Dir)
	if err != nil {
		fail(codes.BuildFailed, printable.Error(err), "run the command itself, and name its output")
		return
	}
	args := make([]string, len(b.command))
	for i, word := range b.command {
		args[i] = strings.ReplaceAll(word, dirPlaceholder, "."+string(filepath.Separator)+dir) // a name such as -x is no option
	}
	ctx, cancel := context.WithTimeout(b.copy.running, b.limit)
	defer cancel()
	stdout, stderr := &limitedBuffer{most: mostOutput, full: cancel}, &limitedBuffer{most: 64 << 10}
	cmd, err := process.Supervised(ctx, folder, args...)
	if err == nil {
		cmd.Stdout, cmd.Stderr = stdout, stderr
		err = b.copy.run(cmd)
	}
	name := strings.Join(b.command, " ")
	switch {
	case stdout.over:
		fail(codes.BuildOutput, fmt.Sprintf("%s %s", name, errLarge), "build fewer objects at once")
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		fail(codes.BuildFailed, fmt.Sprintf("%s exceeds the limit of %s%s", name, b.limit, messages(stderr.kept.Bytes())), "run the command alone: it may wait for an input or the network")
	case err != nil:
		fail(codes.BuildFailed, fmt.Sprintf("%s fails: %v%s", name, err, messages(stderr.kept.Bytes())), "run the command alone in its directory")
	default:
		b.setOutput(built, name, stdout.kept.Bytes(), fail)
	}
	if written := b.copy.written(built.Dir); written != "" {
		built.Text = nil
		fail(codes.BuildWrites, fmt.Sprintf("%s writes %s: a build may not write files; your tree is unchanged", name, written), "commit the file, or use a command that only prints")
	}
}

// fileOf returns the file of a directory that a user would edit first.
func (b *Builder) fileOf(dir string) string {
	if b.isChart(dir) {
		return filepath.Join(dir, chartFile)
	}
	if k := b.kustomizationIn(dir); k != nil {
		return filepath.Join(dir, filepath.Base(k.file))
	}
	return dir
}

// setOutput sets the result of a build from the output of a command, if it is a stream of objects.
func (b *Builder) setOutput(built *workspace.Built, name string, text []byte, fail func(code finding.Code, message, help string)) {
	if len(bytes.TrimSpace(text)) == 0 {
		fail(codes.BuildOutput, name+" prints nothing", "use a command that prints manifests")
		return
	}
	o := &origins{sources: b.sources, dir: built.Dir, file: built.File}
	if k := b.kustomizationIn(built.Dir); k != nil && !b.isChart(built.Dir) {
		o.real, _ = b.tree.Real(built.Dir) // it has been read
		o.closure, _ = b.closure(k)
	}
	o.parts = b.templates(built.Dir, text)
	built.Text, built.Origin = text, o.at
}

// templates returns the templates that helm names before each object.
func (b *Builder) templates(dir string, text []byte) []origin {
	var parts []origin
	start := true
	line := 0
	for text := range bytes.Lines(text) {
		line++
		named, isSource := bytes.CutPrefix(bytes.TrimSpace(text), []byte("# Source: "))
		switch {
		case bytes.HasPrefix(text, []byte("---")):
			parts, start = append(parts, origin{line: line}), true
			continue
		case start && isSource:
			parts = append(parts, origin{line: line, file: b.template(dir, string(named)), template: true})
		}
		start = false
	}
	return parts
}

// template returns the file of a template, which helm names by the name of its chart. It returns "" for an unknown one.
func (b *Builder) template(dir, named string) string {
	_, below, _ := strings.Cut(named, "/")
	for _, file := range []string{filepath.Join(dir, filepath.FromSlash(below)), filepath.Join(dir, filepath.FromSlash(named))} {
		if info, err := fs.Stat(b.tree, file); err == nil && !info.IsDir() {
			return file
		}
	}
	return ""
}

// limitedBuffer keeps the first bytes that are written to it. It does not embed the buffer, since io.Copy would then use the buffer's ReadFrom.
type limitedBuffer struct {
	kept bytes.Buffer
	most int
	over bool
	full func() // called once there are more; nil to go on
}

func (l *limitedBuffer) Write(p []byte) (int, error) {
	remaining := max(0, l.most-l.kept.Len())
	if len(p) > remaining {
		l.kept.Write(p[:remaining])
		if l.over = true; l.full != nil {
			l.full()
		}
		return len(p), nil
	}
	return l.kept.Write(p)
}
