package admission

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/mlpolicy"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// launched is what an option of a program counts.
type launched uint8

const (
	nodes launched = iota + 1
	perNode
	total // of all nodes
)

// launchProgram is a program that starts processes on all nodes. The names of its options have no
// leading dashes, and dashes within.
type launchProgram struct {
	commands [][]string
	counts   map[string]launched
	// flags have no value, and valued have one. An option of neither ends the reading: its next
	// word may be its value.
	flags, valued []string
	// pairs are options with two values.
	pairs []string
	// elsewhere are options that name other hosts.
	elsewhere []string
	// abbreviates means that the beginning of a name is enough, if no other name has it.
	abbreviates bool
	ofMPI       bool
}

// launchPrograms returns the programs: torchrun (torch.distributed.run), accelerate launch,
// deepspeed and Open MPI's mpirun.
func launchPrograms() []launchProgram {
	return []launchProgram{
		{
			commands: [][]string{
				{"torchrun"}, {"python", "-m", "torch.distributed.run"},
				{"python3", "-m", "torch.distributed.run"},
				{"python", "-m", "torch.distributed.launch"},
				{"python3", "-m", "torch.distributed.launch"},
			},
			counts: map[string]launched{"nnodes": nodes, "nproc-per-node": perNode},
			flags: []string{"standalone", "m", "module", "no-python", "run-path", "use-env",
				"virtual-local-rank"},
			valued: []string{
				"rdzv-backend", "rdzv-endpoint", "rdzv-id", "rdzv-conf", "max-restarts",
				"monitor-interval", "start-method", "role", "log-dir", "r",
				"redirects", "t", "tee", "local-ranks-filter", "node-rank", "master-addr",
				"master-port", "local-addr", "logs-specs",
				"event-log-handler", "numa-binding", "signals-to-handle",
			},
			abbreviates: true,
		},
		{
			commands: [][]string{{"accelerate", "launch"}},
			counts:   map[string]launched{"num-machines": nodes, "num-processes": total},
			flags: []string{
				"cpu", "multi-gpu", "tpu", "use-deepspeed", "use-fsdp", "use-megatron-lm", "debug",
				"q", "quiet", "m", "module", "no-python",
				"same-network", "dynamo-use-fullgraph", "dynamo-use-dynamic", "enable-cpu-affinity",
			},
			valued: []string{
				"config-file", "machine-rank", "main-process-ip", "main-process-port",
				"mixed-precision", "num-cpu-threads-per-process", "gpu-ids",
				"dynamo-backend", "dynamo-mode", "rdzv-backend", "rdzv-conf", "max-restarts",
				"monitor-interval", "role", "log-dir", "tee",
				"deepspeed-config-file", "zero-stage", "gradient-accumulation-steps",
				"gradient-clipping", "deepspeed-hostfile",
				"deepspeed-multinode-launcher",
			},
			abbreviates: true,
		},
		{
			commands: [][]string{{"deepspeed"}},
			counts:   map[string]launched{"num-nodes": nodes, "num-gpus": perNode},
			flags: []string{
				"module", "no-python", "no-local-rank", "elastic-training", "force-multi",
				"save-pid", "no-ssh", "no-ssh-check", "bind-cores-to-rank",
			},
			valued: []string{
				"master-port", "master-addr", "launcher", "launcher-args", "autotuning",
				"enable-each-rank-log", "bind-core-list", "ssh-port", "node-rank",
			},
			elsewhere:   []string{"H", "hostfile", "i", "include", "e", "exclude"},
			abbreviates: true,
		},
		{
			commands: [][]string{{"mpirun"}, {"mpiexec"}},
			counts: map[string]launched{"np": total, "n": total, "c": total, "npernode": perNode,
				"N": perNode},
			flags: []string{
				"allow-run-as-root", "oversubscribe", "v", "q", "verbose", "quiet", "tag-output",
				"timestamp-output", "report-bindings", "display-map",
				"display-allocation", "bynode", "byslot",
			},
			valued: []string{"x", "map-by", "bind-to", "rank-by", "wdir", "wd", "prefix",
				"output-filename", "timeout"},
			pairs:     []string{"mca", "gmca"},
			elsewhere: []string{"H", "host", "hostfile", "machinefile", "default-hostfile"},
			ofMPI:     true,
		},
	}
}

// launchCount is a number on the command line.
type launchCount struct {
	of          launched
	option      string // as written
	least, most int    // two numbers of a range
	word        int    // its place in the command line
}

// value returns the number, or the range.
func (n launchCount) value() string {
	if n.least != n.most {
		return fmt.Sprintf("%d to %d", n.least, n.most)
	}
	return strconv.Itoa(n.least)
}

// launchOf returns the program that the words start, and the numbers that they give it. It reads
// plain words alone, until the first one that may be the program's own. Of two equal options the
// last one counts.
func launchOf(words []string) (*launchProgram, []launchCount) {
	for _, p := range launchPrograms() {
		for _, command := range p.commands {
			if len(words) >= len(command) && path.Base(words[0]) == command[0] &&
				slices.Equal(words[1:len(command)], command[1:]) {
				return &p, p.read(words, len(command))
			}
		}
	}
	return nil, nil
}

func (p *launchProgram) read(words []string, at int) []launchCount {
	if p.ofMPI && slices.Contains(words, ":") {
		return nil // several programs, each with its own number
	}
	given := map[launched]launchCount{}
	for ; at < len(words) && len(words[at]) > 1 && words[at][0] == '-' && words[at] != "--"; at++ {
		written, value, hasValue := strings.Cut(words[at], "=")
		name, word := p.fullName(strings.ReplaceAll(strings.TrimLeft(written, "-"), "_", "-")), at
		of, isCount := p.counts[name]
		switch {
		case slices.Contains(p.elsewhere, name):
			return nil
		case slices.Contains(p.flags, name), hasValue && !isCount:
			continue
		case slices.Contains(p.pairs, name):
			at += 2
			continue
		case !isCount && !slices.Contains(p.valued, name):
			at = len(words)
			continue
		case !hasValue:
			if at++; at >= len(words) {
				continue
			}
			value = words[at]
		}
		if !isCount {
			continue
		}
		delete(given, of)
		least, most, isRange := strings.Cut(value, ":")
		if !isRange {
			most = least
		}
		from, errFrom := strconv.Atoi(least)
		to, errTo := strconv.Atoi(most)
		if errFrom == nil && errTo == nil && from > 0 && to >= from {
			given[of] = launchCount{of, written, from, to, word}
		}
	}
	var counts []launchCount
	for _, of := range []launched{nodes, perNode, total} {
		if n, ok := given[of]; ok {
			counts = append(counts, n)
		}
	}
	return counts
}

// fullName completes the name of an option.
func (p *launchProgram) fullName(name string) string {
	if !p.abbreviates || len(name) < 2 {
		return name
	}
	var full []string
	consider := func(option string) {
		if strings.HasPrefix(option, name) {
			full = append(full, option)
		}
	}
	for option := range p.counts {
		consider(option)
	}
	for _, option := range slices.Concat(p.flags, p.valued, p.elsewhere) {
		consider(option)
	}
	if len(full) == 1 {
		return full[0]
	}
	return name
}

// launch warns of numbers on the command line of the trainer that differ from the TrainJob's. They
// win over the variables of a policy, so that nodes wait for each other, or GPUs are idle.
func (c *checker) launch() {
	jobs := c.output.JobSet.Spec.ReplicatedJobs
	at := slices.IndexFunc(jobs, isTrainer)
	if at < 0 {
		return
	}
	i := slices.IndexFunc(jobs[at].Template.Spec.Template.Spec.Containers,
		func(c corev1.Container) bool { return c.Name == mlpolicy.Node })
	if i < 0 {
		return
	}
	container := &jobs[at].Template.Spec.Template.Spec.Containers[i]
	if len(container.Command) == 0 {
		return // the image's own
	}
	program, counts := launchOf(slices.Concat(container.Command, container.Args))
	if len(counts) == 0 {
		return
	}
	policy := c.in.Runtime.spec.MLPolicy
	if ofMPI := policy != nil && policy.MPI != nil; program.ofMPI && !ofMPI ||
		ofMPI && !program.ofMPI && program.commands[0][0] != "deepspeed" {
		return
	}
	size := c.launchSize(&jobs[at], container)
	whole := counts[0].of != nodes && size.nodes == 1 ||
		counts[0].of == nodes && counts[0].least <= size.nodes && size.nodes <= counts[0].most
	for _, n := range counts {
		text, has := "", 0
		switch {
		case n.of == nodes && size.nodes > 0:
			text, has = fmt.Sprintf("starts on %s nodes by %s, but numNodes is %d", n.value(),
				n.option, size.nodes), size.nodes
		case n.of == perNode && size.perNode > 0:
			text, has = fmt.Sprintf("starts %s processes a node by %s, but %s", n.value(), n.option,
				size.perNodeText), size.perNode
		case n.of == total && size.nodes > 0 && size.perNode > 0 && (whole || program.ofMPI):
			has = size.nodes * size.perNode
			text = fmt.Sprintf("starts %s processes by %s, but %d nodes with %d each have %d",
				n.value(), n.option, size.nodes, size.perNode, has)
		}
		if text != "" && (has < n.least || has > n.most) {
			c.reportLaunch(jobs[at].Name, container, n, strings.Join(program.commands[0], " ")+" "+
				text, has)
		}
	}
}

func (c *checker) reportLaunch(job string, container *corev1.Container, n launchCount,
	message string, has int) {
	field := "command"
	if n.word >= len(container.Command) {
		field = "args"
	}
	claim := c.origin(
		jobPath(job).Append(
			fieldpath.Fields("template", "spec", "template", "spec", "containers")...).Append(
			fieldpath.Item("name", container.Name), fieldpath.Field(field)))
	f := finding.Finding{
		Code: codes.LaunchShape, Severity: finding.Warning, Object: c.job.id, Path: claim.At,
		Message: message,
		Remedy:  finding.Remedy{Text: fmt.Sprintf("set %s to %d", n.option, has)},
	}
	if runtimepatch.FromRuntime(claim) {
		f.Object = c.in.Runtime.id
		if t := c.typed.Spec.Trainer; t != nil &&
			(t.NumNodes != nil || t.NumProcPerNode != nil || t.ResourcesPerNode != nil) {
			f.Message += fmt.Sprintf(" in %s", c.job.id)
		}
	}
	c.Add(f)
}

// launchSize are the nodes of a job and the processes of each node; 0 means unknown.
type launchSize struct {
	nodes, perNode int
	perNodeText    string
}

func (c *checker) launchSize(job *jobset.ReplicatedJob, container *corev1.Container) launchSize {
	var size launchSize
	count := func(job *jobset.ReplicatedJob) int {
		if job == nil || job.Template.Spec.Parallelism == nil {
			return 0
		}
		return int(*job.Template.Spec.Parallelism)
	}
	size.nodes = count(job)
	policy := c.in.Runtime.spec.MLPolicy
	isMPI := policy != nil && policy.MPI != nil
	if isMPI {
		size.nodes = count(replicatedJob(c.output.JobSet.Spec.ReplicatedJobs, mlpolicy.Node))
		if as := policy.MPI.RunLauncherAsNode; as != nil && *as && job.Name != mlpolicy.Node {
			size.nodes++
		}
	}
	given := c.in.Earlier.NumProcPerNode
	if t := c.typed.Spec.Trainer; given == nil && t != nil && t.NumProcPerNode != nil {
		n := intstr.FromInt32(*t.NumProcPerNode)
		given = &n
	}
	slots := slices.IndexFunc(container.Env, func(e corev1.EnvVar) bool {
		return e.Name == "OMPI_MCA_orte_set_default_slots"
	})
	switch gpus := mlpolicy.GPUs(container.Resources); {
	case given != nil:
		if size.perNode = given.IntValue(); size.perNode > 0 {
			size.perNodeText = fmt.Sprintf("numProcPerNode is %d", size.perNode)
		}
	case isMPI && slots >= 0:
		size.perNode, _ = strconv.Atoi(container.Env[slots].Value)
		size.perNodeText = fmt.Sprintf("the node has %d slots", size.perNode)
	case gpus > 0:
		size.perNode, size.perNodeText = gpus, fmt.Sprintf("the node has %d GPUs", gpus)
	}
	return size
}
