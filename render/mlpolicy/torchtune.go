package mlpolicy

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/trainweld/trainweld/render/release"
)

// isTorchTune reports whether the trainer's command is exactly "tune run", which asks for
// torchtune.
func isTorchTune(command []string) bool { return slices.Equal(command, []string{"tune", "run"}) }

// torchTune completes torchtune's command (Trainer v2.3.0 pkg/runtime/framework/plugins/torch
// torchtune.go). It adds the rendezvous for several processes, and the recipe and configuration for
// the job's size and arguments. It also adds the paths that the runtime's own command sets.
func (j *Job) torchTune(nodes int32, p procs) {
	command := slices.Clone(j.Command)
	several := p.Type == intstr.Int && p.IntVal > 1 || p.Type == intstr.String && p.gpus > 1
	if j.Release.TorchTune == release.TorchTune20 {
		several = !p.is(1)
	}
	if nodes > 1 || several {
		command = append(command, fmt.Sprintf("--rdzv_endpoint=%s:%d", j.master(), port))
	}
	recipe, suffix := j.torchTuneRecipe(nodes, p, j.TrainJob.Spec.Trainer.Args)
	command = append(command, recipe, "--config", TorchTuneModel(j.TrainJob.Spec.RuntimeRef.Name)+
		suffix)
	j.Command, j.CommandFrom = append(command, j.torchTunePaths()...),
		policyWriter("torch").from("spec", "trainer", "command")
}

// torchTuneRecipe returns the recipe and the suffix of its configuration. Several nodes exclude
// LoRA, so a full fine-tuning gets its arguments. Trainer 2.0 knows no LoRA.
func (j *Job) torchTuneRecipe(nodes int32, p procs, args []string) (recipe, suffix string) {
	lora, qlora := TorchTuneLoRA(j.Release.TorchTune, args)
	single := p.is(1) || p.gpus == 1
	if j.Release.TorchTune == release.TorchTune20 {
		lora, qlora, single = false, false, p.is(1)
	}
	switch {
	case nodes > 1:
		return "full_finetune_distributed", "_full_multinode"
	case nodes < 1: // admission accepts zero and less, and they get the configuration of one node
		return "full_finetune_distributed", "_full"
	case single && qlora:
		return "lora_finetune_single_device", "_qlora_single_device"
	case single && lora:
		return "lora_finetune_single_device", "_lora_single_device"
	case single:
		return "full_finetune_single_device", "_full_single_device"
	case qlora:
		return "lora_finetune_distributed", "_qlora"
	case lora:
		return "lora_finetune_distributed", "_lora"
	default:
		return "full_finetune_distributed", "_full"
	}
}

// TorchTuneLoRA reports whether the arguments ask for LoRA, and for quantized LoRA. Before Trainer
// 2.3, the names of QLoRA's arguments count anywhere, whatever their values.
func TorchTuneLoRA(by release.TorchTune, args []string) (lora, quantized bool) {
	asks := containsItem
	if by == release.TorchTune23 {
		asks = setsToTrue
	}
	return containsItem(args, "model.lora_attn_modules"), asks(args, "model.quantize_base") &&
		!asks(args, "model.use_dora")
}

// containsItem reports whether an argument contains the item.
func containsItem(args []string, item string) bool {
	return slices.ContainsFunc(args, func(arg string) bool { return strings.Contains(arg, item) })
}

// setsToTrue reports whether an argument sets the item to a Python-style true.
func setsToTrue(args []string, item string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		name, value, found := strings.Cut(arg, "=")
		return found && strings.Contains(name, item) &&
			strings.EqualFold(strings.TrimSpace(value), "true")
	})
}

// TorchTuneModel returns the model in the runtime's name, torchtune-<family>-<size>. It returns ""
// if the name has another number of dashes.
func TorchTuneModel(runtime string) string {
	parts := strings.Split(runtime, "-")
	if len(parts) != 3 {
		return ""
	}
	return strings.ReplaceAll(parts[1], ".", "_") + "/" + strings.ToUpper(parts[2])
}

// torchTunePaths returns the items of the node containers' commands that a TrainJob must not set.
func (j *Job) torchTunePaths() []string {
	fixed := []string{"output_dir", "tokenizer.path", "checkpointer.checkpoint_dir",
		"tokenizer.merges_file"}
	if j.Release.TorchTune == release.TorchTune20 {
		fixed = fixed[:3]
	}
	var items []string
	for _, set := range j.Sets {
		if set.Ancestor != Trainer {
			continue
		}
		for _, c := range set.Containers() {
			if c.Name != Node {
				continue
			}
			for _, item := range c.Command {
				if name, _, _ := strings.Cut(item, "="); slices.Contains(fixed, name) {
					items = append(items, item)
				}
			}
		}
	}
	return items
}
