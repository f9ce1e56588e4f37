package process

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// TestSupervised_SupervisorEnds kills the supervisor of a command, as the kernel does without memory. The command ends with it.
func TestSupervised_SupervisorEnds(t *testing.T) {
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), "SUPERVISED=echo $PPID $$; exec sleep 60")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = parent.Process.Kill() // it may have ended
		_ = parent.Wait()
	}()
	var supervisor, command int
	if _, err := fmt.Fscan(bufio.NewReader(out), &supervisor, &command); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(supervisor, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for tries := 0; ; tries++ {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", command))
		if err != nil || bytes.Contains(stat, []byte(") Z ")) { // a zombie has ended
			return
		}
		if tries > 500 {
			t.Fatalf("process %d still runs", command)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
