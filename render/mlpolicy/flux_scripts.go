package mlpolicy

import (
	"fmt"
	"io"
	"io/fs"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainweld/trainweld/render/release"
)

// fluxTemplates are the three files of the scripts, from the folder
// pkg/runtime/framework/plugins/flux/templates of the release of the Trainer.
type fluxTemplates struct{ broker, entrypoint, init template }

// entrypointGaps returns the number of gaps in the entrypoint. Trainer 2.2 lets Flux find the
// resources itself.
func (j *Job) entrypointGaps() int {
	if j.Release.Flux == release.Flux22 {
		return 2
	}
	return 3
}

func (j *Job) readFluxTemplates(fsys fs.FS) (t fluxTemplates, err error) {
	for _, file := range []struct {
		name string
		gaps int
		into *template
	}{{"broker.toml", 4, &t.broker}, {"entrypoint.sh", j.entrypointGaps(), &t.entrypoint},
		{"init.sh", 4, &t.init}} {
		text, err := readTemplate(fsys, file.name)
		if err != nil {
			return t, err
		}
		*file.into = strings.Split(string(text), "%s")
		if gaps := len(*file.into) - 1; gaps != file.gaps {
			return t, fmt.Errorf("%s has %d gaps (%%s), and that of Trainer v%s has %d", file.name,
				gaps, j.Release.Version, file.gaps)
		}
	}
	return t, nil
}

// maxTemplate is the maximum size of a file. The files of Trainer v2.3.0 have a few kilobytes.
const maxTemplate = 1 << 20

// readTemplate reads a regular file.
func readTemplate(fsys fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(fsys, name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: must be a regular file", name)
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // read only
	text, err := io.ReadAll(io.LimitReader(f, maxTemplate+1))
	if err == nil && len(text) > maxTemplate {
		err = fmt.Errorf("%s: must be at most %d bytes", name, maxTemplate)
	}
	return text, err
}

// template is a string that is split at its gaps.
type template []string

func (t template) fill(values ...string) string {
	var b strings.Builder
	for i, part := range t {
		b.WriteString(part)
		if i < len(values) {
			b.WriteString(values[i])
		}
	}
	return b.String()
}

// fluxScripts returns the ConfigMap with the scripts of the init container and the trainer. Both
// assume that the job is called node and that its subdomain is the TrainJob's name.
func (j *Job) fluxScripts(templates fluxTemplates) *corev1.ConfigMap {
	name := j.TrainJob.Name
	nodes, tasks := *j.TrainJob.Spec.Trainer.NumNodes, j.fluxTasks(j.source().Flux)
	hosts := fmt.Sprintf("%s-%s-0-[%s]", name, Node, fluxRange(nodes))
	settings := j.fluxSettings()
	broker := templates.broker.fill(
		"tcp://"+settings.device+":%p",
		fmt.Sprintf("tcp://%%h.%s.%s.svc.cluster.local:%%p", name, j.TrainJob.Namespace),
		hosts, settings.queue,
	)
	resources, flags := "--cores="+fluxRange(tasks), fmt.Sprintf("-N %d -n %d", nodes, tasks*nodes)
	if n := j.gpus(j.Release.Claims.Flux); n > 0 {
		resources += " --gpu=" + fluxRange(int32(n))
		// Flux takes -g as GPUs per task, but the controller passes the GPUs of the whole node.
		flags += fmt.Sprintf(" -g %d", n)
	}
	entrypoint := []string{resources, fmt.Sprintf("%s-%s-0-0", name, Node), flags}
	scripts := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: j.fluxScriptsName(), Namespace: j.TrainJob.Namespace},
		Data: map[string]string{
			"entrypoint.sh": templates.entrypoint.fill(
				entrypoint[len(entrypoint)-j.entrypointGaps():]...),
			"init.sh": templates.init.fill("/opt/view", name+"-0", hosts, broker),
		},
	}
	if len(scripts.Data["entrypoint.sh"])+len(scripts.Data["init.sh"]) > maxConfigMap {
		j.fluxTooLarge()
	}
	return scripts
}

// fluxRange returns the range of n numbers from zero in Flux's format; for zero numbers it is
// "0--1".
func fluxRange(n int32) string {
	if n == 1 {
		return "0"
	}
	return fmt.Sprintf("0-%d", n-1)
}
