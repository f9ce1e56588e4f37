package cluster

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

const webhookExample = "../../../../docs/examples/webhook"

// hook is the program of docs/examples/webhook with its files, as a Pod has them.
type hook struct {
	dir, program string
	port, health int
	process      *exec.Cmd
	log          *os.File
}

// start starts the program, and waits until it is ready.
func (w *hook) start(t *testing.T) {
	t.Helper()
	w.process = exec.Command(w.program, "-kubeconfig="+filepath.Join(w.dir, "kubeconfig"),
		"-cert-dir="+w.dir, "-policy="+filepath.Join(w.dir, "policy", "trainweld.yaml"),
		fmt.Sprint("-port=", w.port), fmt.Sprint("-health-address=127.0.0.1:", w.health))
	w.process.Stdout, w.process.Stderr = w.log, w.log
	if err := w.process.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the webhook is ready", func() string {
		answer, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/readyz", w.health))
		if err != nil {
			return err.Error()
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return answer.Status
		}
		return ""
	})
}

func (w *hook) stop() {
	_ = w.process.Process.Kill()
	_ = w.process.Wait()
}

// setPolicy replaces the policy as the kubelet replaces the files of a ConfigMap: by another target
// of a link.
func (w *hook) setPolicy(t *testing.T, text string) {
	t.Helper()
	mount := filepath.Join(w.dir, "policy")
	version, err := os.MkdirTemp(mount, "..")
	if err == nil {
		err = os.WriteFile(filepath.Join(version, "trainweld.yaml"), []byte(text), 0o600)
	}
	if err == nil {
		err = os.Symlink(version, filepath.Join(mount, "..next"))
	}
	if err == nil {
		err = os.Rename(filepath.Join(mount, "..next"), filepath.Join(mount, "..data"))
	}
	if err != nil {
		t.Fatal(err)
	}
	// the first time
	_ = os.Symlink(filepath.Join("..data", "trainweld.yaml"),
		filepath.Join(mount, "trainweld.yaml"))
}

// eventually waits until a function returns no reason against it.
func eventually(t *testing.T, what string, reason func() string) {
	t.Helper()
	last := ""
	for range 1200 {
		if last = reason(); last == "" {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("not after a minute: %s: %.600s", what, last)
}

// patched returns a TrainJob whose managers want two pools.
func patched(first, second string) []byte {
	patch := func(manager, pool string) string {
		return fmt.Sprintf(
			`{"manager":%q,"trainingRuntimeSpec":{"template":{"spec":{"replicatedJobs":[{"name":"node","template":{"spec":{"template":{"spec":{"nodeSelector":{"pool":%q}}}}}}]}}}}`, manager, pool)
	}
	return fmt.Appendf(
		nil, `{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","metadata":{"generateName":"llm-"},"spec":{"runtimeRef":{"kind":"TrainingRuntime","name":"rt"},"runtimePatches":[%s,%s]}}`,
		patch("b.example/sdk", first), patch("a.example/queue", second))
}

// tryWebhook runs the program of docs/examples/webhook next to the control plane, by its manifests
// and in a separate namespace. It tries parallel requests, restarts, an expired certificate and
// broken policies. With failurePolicy Fail, no conflict is ever accepted.
func (c *ControlPlane) tryWebhook(t *testing.T, requests int) {
	w := &hook{dir: t.TempDir()}
	w.program = filepath.Join(w.dir, "webhook")
	build := exec.Command("go", "build", "-o", w.program, ".")
	build.Dir, build.Env = webhookExample, append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ports, err := freePorts(2)
	if err != nil {
		t.Fatal(err)
	}
	w.port, w.health = ports[0], ports[1]
	kubeconfig := fmt.Sprintf(
		"{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: "+
			"{server: %q, insecure-skip-tls-verify: true}}], users: [{name: c, user: {token: "+
			"%s}}], contexts: [{name: c, context: {cluster: c, user: c}}]}", c.URL, c.Token)
	if err := os.WriteFile(filepath.Join(w.dir, "kubeconfig"), []byte(kubeconfig),
		0o600); err != nil {
		t.Fatal(err)
	}
	if w.log, err = os.Create(filepath.Join(w.dir, "log")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(w.dir, "policy"), 0o700); err != nil {
		t.Fatal(err)
	}
	valid, expired := t.TempDir(), t.TempDir()
	var authorities []byte
	for dir, age := range map[string]time.Duration{valid: 0, expired: 30 * time.Minute} {
		authority, err := writeCertificate(dir, age)
		if err != nil {
			t.Fatal(err)
		}
		authorities = append(authorities, authority...)
	}
	namespace, err := c.Namespace()
	if err != nil {
		t.Fatal(err)
	}
	configuration, configured := w.configuration(t, namespace, authorities)
	certificate := func(from string) {
		for _, name := range []string{"tls.key", "tls.crt"} {
			data, err := os.ReadFile(filepath.Join(from, name))
			if err == nil {
				err = os.WriteFile(filepath.Join(w.dir, name), data, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	certificate(valid)
	w.setPolicy(t, configured)
	w.start(t)
	defer func() { w.stop() }()
	var runtime Object
	if err := json.Unmarshal([]byte(storedRuntime), &runtime); err != nil {
		t.Fatal(err)
	}
	if answer, err := c.Create(runtime, namespace, ""); err != nil ||
		answer.Status != http.StatusCreated {
		t.Fatalf("%v %s", err, answer.Body)
	}
	c.post(t, "validatingwebhookconfigurations", configuration)
	at := "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/trainweld-webhook"
	defer func() { _, _ = c.Do(http.MethodDelete, at, nil) }()

	agree, disagree := patched("a", "a"), patched("a", "b")
	path := "/apis/trainer.kubeflow.org/v1alpha1/namespaces/" + namespace + "/trainjobs?dryRun=All"
	verdict := func(job []byte) (said string) {
		answer, err := c.Do(http.MethodPost, path, job)
		switch {
		case err != nil:
			return err.Error()
		case answer.Status == http.StatusCreated:
			return strings.TrimSpace("accepted " + strings.Join(answer.Warnings, " "))
		}
		return answer.Rejection()
	}
	const accepted, conflict, failed = "accepted", "managers set different values",
		"failed calling webhook"
	wait := func(job []byte, want string) string {
		t.Helper()
		said := ""
		eventually(t, want, func() string {
			if said = verdict(job); strings.Contains(said, want) {
				return ""
			}
			return said
		})
		return said
	}
	wait(agree, accepted)
	wait(disagree, conflict)

	// All at once.
	counts := map[string]int{}
	var mu sync.Mutex
	var group sync.WaitGroup
	count := func(i int) {
		job, want := agree, accepted
		if i%2 == 1 {
			job, want = disagree, conflict
		}
		said := verdict(job)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case strings.Contains(said, want):
			counts[want]++
		case strings.Contains(said, failed):
			counts[failed]++
		default:
			t.Errorf("%s, want %s", said, want)
		}
	}
	for i := range requests {
		group.Go(func() { count(i) })
	}
	group.Wait()
	if t.Log(requests, "requests at a time:", counts); counts[accepted] != requests/2 ||
		counts[conflict] != requests-requests/2 {
		t.Errorf("%d requests have the verdicts %v", requests, counts)
	}
	w.measure(t, agree, namespace, requests)

	// Restarts under requests.
	clear(counts)
	done := make(chan struct{})
	for lane := range 8 {
		group.Go(func() {
			for i := lane; ; i++ {
				select {
				case <-done:
					return
				default:
					count(i)
				}
			}
		})
	}
	for range 3 {
		w.stop()
		wait(agree, failed)
		mu.Lock()
		clear(counts)
		mu.Unlock()
		w.start(t)
		eventually(t, "all three verdicts", func() string {
			mu.Lock()
			defer mu.Unlock()
			if counts[accepted] > 10 && counts[conflict] > 10 && counts[failed] > 0 {
				return ""
			}
			return fmt.Sprint(counts)
		})
	}
	close(done)
	group.Wait()

	// An expired certificate, and a new one in its place.
	w.stop()
	certificate(expired)
	w.start(t)
	for _, job := range [][]byte{agree, disagree} {
		if said := verdict(job); !strings.Contains(said, failed) ||
			!strings.Contains(said, "expired") {
			t.Errorf("with an expired certificate: %s", said)
		}
	}
	certificate(valid)
	wait(agree, accepted)
	wait(disagree, conflict)

	// A broken policy, without a restart.
	w.setPolicy(t, "manager: []\n")
	for _, job := range [][]byte{agree, disagree} {
		if said := verdict(job); !strings.Contains(said, failed) ||
			!strings.Contains(said, `did you mean \"managers\"?`) &&
				!strings.Contains(said, `did you mean "managers"?`) {
			t.Errorf("with a broken policy: %s", said)
		}
	}
	if answer, err := c.Do(http.MethodPatch, at,
		[]byte(`{"webhooks":[`+ignoring(t, configuration)+`]}`)); err != nil ||
		answer.Status != http.StatusOK {
		t.Fatalf("%v %s", err, answer.Body)
	}
	wait(disagree, accepted)
	if log, err := os.ReadFile(w.log.Name()); err != nil ||
		!strings.Contains(string(log), "the policy is invalid, and no TrainJob was judged") {
		t.Errorf("the webhook accepts in silence: %v\n%s", err, log)
	}
	w.setPolicy(t, "managers: [{name: b.example/sdk}]\n")
	if said := verdict(agree); !strings.Contains(said, "lists no manager") {
		t.Errorf("with a new policy: %s", said)
	}
	w.setPolicy(t, "severities: {TW300: warning}\n")
	if said := verdict(disagree); !strings.HasPrefix(said, accepted) ||
		!strings.Contains(said, "TW300") {
		t.Errorf("with a policy that warns: %s", said)
	}

	// A program that starts with a broken policy ends, so that a rollout stops.
	w.stop()
	w.setPolicy(t, "manager: []\n")
	again := exec.Command(w.process.Path, w.process.Args[1:]...)
	if out, err := again.CombinedOutput(); err == nil ||
		!strings.Contains(string(out), `did you mean "managers"?`) {
		t.Errorf("a start with a broken policy: %v\n%s", err, out)
	}
}

// configuration returns the ValidatingWebhookConfiguration of the manifests for one namespace, and
// the policy of their ConfigMap.
func (w *hook) configuration(t *testing.T, namespace string,
	authorities []byte) (configuration Object, policy string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(webhookExample, "manifests", "webhook.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range strings.Split(string(text), "\n---\n") {
		var object Object
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatal(err)
		}
		switch object["kind"] {
		case "ConfigMap":
			policy, _ = object["data"].(Object)["trainweld.yaml"].(string)
		case "ValidatingWebhookConfiguration":
			configuration = object
		}
	}
	hook := configuration["webhooks"].([]any)[0].(Object)
	service := hook["clientConfig"].(Object)["service"].(Object)
	hook["clientConfig"] = Object{
		"url":      fmt.Sprintf("https://127.0.0.1:%d%s", w.port, service["path"]),
		"caBundle": authorities}
	hook["namespaceSelector"] = Object{
		"matchLabels": Object{"kubernetes.io/metadata.name": namespace}}
	if hook["failurePolicy"] != "Fail" || policy == "" {
		t.Fatalf("the manifests have failurePolicy %v and the policy %q", hook["failurePolicy"],
			policy)
	}
	return configuration, policy
}

// ignoring returns the webhook of a configuration with failurePolicy Ignore.
func ignoring(t *testing.T, configuration Object) string {
	t.Helper()
	hook := configuration["webhooks"].([]any)[0].(Object)
	hook["failurePolicy"] = "Ignore"
	text, err := json.Marshal(hook)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// measure logs how long the webhook takes for requests one by one and at a time, without the API
// server.
func (w *hook) measure(t *testing.T, job []byte, namespace string, requests int) {
	t.Helper()
	var object Object
	if err := json.Unmarshal(job, &object); err != nil {
		t.Fatal(err)
	}
	object["metadata"].(Object)["namespace"] = namespace
	review, err := json.Marshal(
		Object{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": Object{
			"uid": "a", "operation": "CREATE",
			"kind": Object{"group": "trainer.kubeflow.org", "version": "v1alpha1",
				"kind": "TrainJob"}, "object": object,
		}})
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
			MaxIdleConnsPerHost: requests}}
	for _, lanes := range []int{1, 2, requests} {
		var mu sync.Mutex
		var connected, group sync.WaitGroup
		var took []time.Duration
		connected.Add(lanes)
		for range lanes {
			group.Go(func() {
				for i := range 4000/lanes + 1 {
					start := time.Now()
					answer, err := client.Post(
						fmt.Sprintf("https://127.0.0.1:%d/validate-trainjob", w.port),
						"application/json", bytes.NewReader(review))
					passed := time.Since(start)
					if i == 0 { // opens the connection
						connected.Done()
						connected.Wait()
					}
					if err != nil {
						t.Error(err)
						return
					}
					body, _ := io.ReadAll(answer.Body)
					answer.Body.Close()
					if !strings.Contains(string(body), `"uid":"a"`) {
						t.Errorf("%s: %s", answer.Status, body)
						return
					}
					if mu.Lock(); i > 0 {
						took = append(took, passed)
					}
					mu.Unlock()
				}
			})
		}
		group.Wait()
		if slices.Sort(took); len(took) > 0 {
			t.Logf("the webhook at %d requests at a time: median %v, 99th percentile %v", lanes,
				took[len(took)/2], took[len(took)*99/100])
		}
	}
}
