package admission

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestLaunchOf reads command lines of the four programs. A word is read only if it is certainly the
// program's own.
func TestLaunchOf(t *testing.T) {
	for _, tc := range []struct{ line, want string }{
		{"torchrun --nnodes=4 --nproc-per-node=8 train.py", "--nnodes 4, --nproc-per-node 8"},
		{"torchrun --nnodes 4 --nproc_per_node 8 train.py", "--nnodes 4, --nproc_per_node 8"},
		{"/opt/conda/bin/torchrun --nproc 2 train.py", "--nproc 2"},
		{"python -m torch.distributed.run --nnodes=2 train.py", "--nnodes 2"},
		{"python3 -m torch.distributed.launch --nproc_per_node=2 train.py", "--nproc_per_node 2"},
		{"torchrun --nnodes=1:4 train.py", "--nnodes 1 to 4"},
		{"torchrun --nnodes=2 --nnodes=3 train.py", "--nnodes 3"},
		{"torchrun --standalone --rdzv-backend c10d -m --nnodes=3 pkg", "--nnodes 3"},
		{"torchrun train.py --nnodes=4", ""},
		{"torchrun --rdzv-id 1 train.py --nnodes=4", ""},
		{"torchrun --new-option --nnodes=4 train.py", ""},
		{"torchrun --new-option=1 --nnodes=4 train.py", "--nnodes 4"},
		{"torchrun --nnodes=$(PET_NNODES) --nproc-per-node=auto train.py", ""},
		{"torchrun --nnodes=4 --nnodes=$(N) train.py", ""},
		{"torchrun --n=4 train.py", ""},
		{"torchrun -- --nnodes=4", ""},
		{"torchrun --nnodes", ""},
		{"torchrun", ""},
		{"sh -c torchrun --nnodes=4", ""},
		{"python train.py --nnodes=4", ""},
		{"accelerate launch --num_machines 2 --num-processes=16 --mixed_precision bf16 train.py",
			"--num_machines 2, --num-processes 16"},
		{"accelerate launch --multi_gpu --num_processes=8 train.py --num_machines=3",
			"--num_processes 8"},
		{"accelerate config --num_machines 2", ""},
		{"deepspeed --num_nodes=2 --num_gpus 4 train.py", "--num_nodes 2, --num_gpus 4"},
		{"deepspeed --hostfile=hosts --num_nodes=2 train.py", ""},
		{"mpirun -np 4 python train.py", "-np 4"},
		{"mpirun --allow-run-as-root --mca btl tcp -x PATH -n 4 -N 2 python train.py",
			"-N 2, -n 4"},
		{"mpirun -np 1 a : -np 3 b", ""},
		{"mpirun -H a,b -np 4 python", ""},
		{"mpirun --npernode 2 python -n 3", "--npernode 2"},
	} {
		_, counts := launchOf(strings.Fields(tc.line))
		var got []string
		for _, n := range counts {
			got = append(got, fmt.Sprintf("%s %s", n.option, n.value()))
			if word := strings.Fields(tc.line)[n.word]; !strings.HasPrefix(word, n.option) {
				t.Errorf("%s: %s is not word %d", tc.line, n.option, n.word)
			}
		}
		if joined := strings.Join(got, ", "); joined != tc.want {
			t.Errorf("%s: got %q, want %q", tc.line, joined, tc.want)
		}
	}
}

// TestLaunchPrograms_OneMeaning holds that no option of a program has two meanings.
func TestLaunchPrograms_OneMeaning(t *testing.T) {
	for _, p := range launchPrograms() {
		all := slices.Concat(p.flags, p.valued, p.pairs, p.elsewhere)
		for name := range p.counts {
			all = append(all, name)
		}
		slices.Sort(all)
		if once := slices.Compact(slices.Clone(all)); len(once) != len(all) {
			t.Errorf("%s: an option is listed twice in %v", p.commands[0], all)
		}
	}
}
