package policy

import (
	"fmt"
	"slices"
	"strings"
)

// isTorchTune reports whether the trainer's command is exactly "tune run", which asks for torchtune.
func isTorchTune(command []string) bool { return slices.Equal(command, []string{"tune", "run"}) }

// torchTune completes torchtune's command (Trainer v2.3.0 pkg/runtime/framework/plugins/torch torchtune.go). It adds
// the rendezvous for several processes, and the recipe and configuration for the job's size and arguments. It also
// adds the paths that the runtime's own command sets.
func (j *Job) torchTune(nodes int32, p procs) {
	command := slices.Clone(j.Command)
	if nodes > 1 || !p.auto && p.number > 1 || p.auto && p.gpus > 1 {
		command = append(command, fmt.Sprintf("--rdzv_endpoint=%s:%d", j.master(), port))
	}
	recipe, suffix := torchTuneRecipe(nodes, p, j.TrainJob.Spec.Trainer.Args)
	command = append(command, recipe, "--config", torchTuneModel(j.TrainJob.Spec.RuntimeRef.Name)+suffix)
	j.Command, j.CommandFrom = append(command, j.torchTunePaths()...), policyWriter("torch").from("spec", "trainer", "command")
}

// torchTuneRecipe returns the recipe and the suffix of its configuration. Several nodes exclude LoRA, so a full
// fine-tuning gets its arguments.
func torchTuneRecipe(nodes int32, p procs, args []string) (recipe, suffix string) {
	lora := slices.ContainsFunc(args, func(arg string) bool { return strings.Contains(arg, "model.lora_attn_modules") })
	qlora := isTrue(args, "model.quantize_base") && !isTrue(args, "model.use_dora")
	single := !p.auto && p.number == 1 || p.gpus == 1
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

// isTrue reports whether an argument sets the item to a Python-style true.
func isTrue(args []string, item string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		name, value, found := strings.Cut(arg, "=")
		return found && strings.Contains(name, item) && strings.EqualFold(strings.TrimSpace(value), "true")
	})
}

// torchTuneModel returns the model in the runtime's name, torchtune-<family>-<size>. It returns "" if the name has
// another number of dashes.
func torchTuneModel(runtime string) string {
	parts := strings.Split(runtime, "-")
	if len(parts) != 3 {
		return ""
	}
	return strings.ReplaceAll(parts[1], ".", "_") + "/" + strings.ToUpper(parts[2])
}

// torchTunePaths returns the items of the node containers' commands that a TrainJob must not set.
func (j *Job) torchTunePaths() []string {
	fixed := []string{"output_dir", "tokenizer.path", "checkpointer.checkpoint_dir", "tokenizer.merges_file"}
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
