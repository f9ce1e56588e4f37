package cli

import (
	"bytes"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/internal/testenv"
)

// foreignFiles returns files that are not manifests, or that hold a Secret. MARK is a text that no
// message repeats.
func foreignFiles() map[string]string {
	return map[string]string{
		"passwd": "root:MARK:0:0:root:/root:/bin/bash\ndaemon:MARK:1:1::/:/bin/sh\n",
		"word":   "MARK\n", "key": "MARK: x\n",
		"keys": "MARK: x\nMARKa: y\nb: MARK\n", "duplicate": "MARK: x\nMARK: y\n",
		"dotenv": "export TOKEN=MARK\nB=MARK\n", "spaced dotenv": "TOKEN = MARK\nMARK = b\n",
		"password": "password: MARK\n", "nested": "db:\n  password: MARK\n  MARK: 1\n",
		"list": "- MARK\n- MARK: b\n",
		"key in PEM": "-----BEGIN RSA PRIVATE KEY-----\nMARK\nAAAA==\n-----END RSA PRIVATE " +
			"KEY-----\n",
		"head of PEM": "-----BEGIN MARK-----\nProc-Type: 4,MARK\nDEK-Info: MARK\n",
		"base64":      "c2VjcmV0IHN0dWZmMARK==\n", "netrc": "machine a.b login me password MARK\n",
		"section": "[default]\naws_secret_access_key = MARK\n", "sections": "[MARK]\nMARK = MARK\n",
		"JSON": `{"password": "MARK", "MARK": 1}`, "JSON string": `"MARK"`,
		"broken JSON": `{"password": "MARK", MARK`, "JSON array": `["MARK"]`,
		"alias": "a: *MARK\n", "only an alias": "*MARK\n", "tag": "!MARK x\n",
		"tag of YAML": "a: !!MARK x\n", "float": "!!float MARK\n", "int": "password: !!int MARK\n",
		"directive": "%MARK 1.0\n---\na: b\n", "handle": "%TAG !MARK! MARK\n---\n!MARK!a b\n",
		"tab": "a:\n\tMARK: b\n", "open quote": "password: \"MARK\n",
		"open single quote": "'MARK\n",
		"block":             "password: |MARK\n  a\n", "two colons": "a: b: MARK\n",
		"at":       "@MARK\n",
		"backtick": "`MARK`: a\n", "flow": "{password: MARK\n", "open list": "[MARK, b: MARK\n",
		"complex key": "? [MARK]\n: MARK\n", "key in flow": "{{MARK: a}}: b\n",
		"merge key": "<<: MARK\n", "escape": "a: \"\\MARK\"\n", "hex": "a: \"\\xMARK\"\n",
		"NUL": "MARK\x00\n", "latin": "MARK: \xff\n",
		"UTF-16": inUTF16("password: " + marker + "\n"), "bell": "MARK: \aMARK\n",
		"version":       "apiVersion: v1\npassword: MARK\n",
		"half a Secret": "kind: Secret\npassword: MARK\nstringData: MARK\n",
		"Secret": "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nother: " +
			"MARK\nstringData:\n  MARK: MARK\n  a: [MARK]\ntype: MARK\n",
		"doubled Secret": "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  a: " +
			"MARK\n  a: MARK\n",
		"alias in Secret": "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  a: " +
			"*MARK\n  MARK\n",
		"open Secret": "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {a: " +
			"\"MARK}\n",
		"HTML":   "<html>MARK</html>\n",
		"script": "#!/bin/sh\nPASS=MARK run\ncurl -u me:MARK http://x\n",
		"table":  "user,pw\nme,MARK\n", "htpasswd": "me:$apr1$MARK\n",
		"public key": "ssh-rsa MARK me@host\n",
		"kubeconfig": "apiVersion: v1\nkind: Config\nusers:\n- name: a\n  user: {token: " +
			"MARK}\nMARK: 1\n", "documents": "a: b\n---\nMARK\n---\nMARK: 1\n",
		"long":     "MARK" + strings.Repeat("x", 3000) + ": 1\n",
		"registry": `{"auths": {"https://index": {"auth": "MARK"}}}`,
		"manager":  "manager: a.b/c\npassword: MARK\n",
		"TOML":     "password = \"MARK\"\n[a]\nMARK = 1\n", "comment": "# MARK\nMARK: MARK\n",
		"level": "MARK: error\n", "template": "{{ MARK }}\n",
		"template value": "password: {{ MARK }}\n", "number": "12345678 MARK\n",
		"bool": "yes\nMARK\n",
	}
}

func inUTF16(text string) string {
	b := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(text)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return string(b)
}

// foreignLines returns command lines with FILE in each place that reads a file. A line that ends
// with < reads FILE from standard input.
func foreignLines() []string {
	return []string{
		"check FILE -r rt.yaml", "check job.yaml -r FILE", "check job.yaml -r rt.yaml --crd FILE",
		"check job.yaml -r rt.yaml --policy FILE", "check job.yaml -r rt.yaml --old FILE",
		"check job.yaml -r rt.yaml --patch FILE", "check job.yaml -r rt.yaml --patch a.io/b=FILE",
		"check - <", "check job.yaml -r - <",
		"check job.yaml -r rt.yaml --patch FILE -o json",
		"conflicts FILE -r rt.yaml", "conflicts job.yaml -r FILE",
		"conflicts job.yaml -r rt.yaml --patch FILE", "conflicts job.yaml -r rt.yaml --policy FILE",
		"conflicts dep.yaml --patch FILE", "conflicts FILE --patch dep.yaml",
		"conflicts dep.yaml --type merge --patch FILE",
		"conflicts dep.yaml --type apply --patch FILE",
		"conflicts dep.yaml --crd FILE --patch dep.yaml",
		"render -f FILE -r rt.yaml", "render -f job.yaml -r FILE",
		"render -f job.yaml -r rt.yaml --policy FILE", "render -f job.yaml -r rt.yaml --patch FILE",
		"render -f job.yaml -r rt.yaml --flux-templates FILE", "render -f - <",
		"blame -f FILE -r rt.yaml", "blame -f job.yaml -r FILE",
		"blame -f job.yaml -r rt.yaml --policy FILE", "blame -f job.yaml -r rt.yaml --patch FILE",
		"blame -f dep.yaml --patch FILE", "blame -f FILE --patch dep.yaml",
		"blame -f dep.yaml --crd FILE --patch dep.yaml",
		"diff FILE job.yaml -r rt.yaml", "diff job.yaml FILE -r rt.yaml",
		"diff job.yaml job.yaml -r FILE", "render job.yaml -r rt.yaml --old FILE",
		"check job.yaml -r rt.yaml --old FILE", "diff job.yaml job.yaml -r rt.yaml --policy FILE",
		"diff job.yaml job.yaml -r rt.yaml --patch FILE",
		"diff dep.yaml dep.yaml --patch FILE", "diff dep.yaml FILE",
		"diff dep.yaml dep.yaml --crd FILE --patch dep.yaml",
		"merge -f FILE --patch dep.yaml", "merge -f dep.yaml --patch FILE",
		"merge -f dep.yaml --patch FILE --type merge",
		"merge -f dep.yaml --patch FILE --type apply",
		"merge -f dep.yaml --patch dep.yaml --crd FILE", "merge -f - --patch dep.yaml <",
		"migrate FILE", "migrate FILE -d", "migrate pt.yaml -r FILE", "migrate - <",
		"policy FILE", "schema -f FILE", "schema -f job.yaml -r FILE",
		"schema -r rt.yaml --policy FILE", "test FILE", "fn <",
		"check config/job.yaml -r rt.yaml", "check policy/job.yaml -r rt.yaml",
		"check patch/job.yaml -r rt.yaml", "test cases",
		"render -f job.yaml -r rt.yaml --output-dir out",
		"check -k resource", "check -k kustomization",
	}
}

// TestForeignFiles names files that are not manifests in each place that reads one. No message
// repeats a word of them. A short run gives each file to some of the command lines, others in each
// run.
func TestForeignFiles(t *testing.T) {
	const job = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: " +
		"llm}\nspec: {runtimeRef: {name: rt}, trainer: {numNodes: 1}}\n"
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"job.yaml": job, "config/job.yaml": job, "policy/job.yaml": job, "patch/job.yaml": job,
		"cases/a/job.yaml": job, "cases/b/job.yaml": job, "rt.yaml": valuesRuntime,
		"cases/rt.yaml": valuesRuntime,
		"dep.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: " +
			"a}\nspec: {replicas: 1}\n",
		"pt.yaml": "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: " +
			"{name: p}\nspec: {pytorchReplicaSpecs: {Worker: {template: {spec: {containers: " +
			"[{name: pytorch, image: i}]}}}}}\n",
		"policy/trainweld.yaml":       "policy: policy.yaml\n",
		"patch/trainweld.yaml":        "patches:\n- file: patch.yaml\n",
		"cases/b/options.yaml":        "on-conflict: last\n",
		"resource/kustomization.yaml": "resources: [foreign.yaml]\n",
	} {
		testenv.WriteIn(t, ".", name, text)
	}
	files, every := foreignFiles(), uint64(testenv.Every(20))
	first := testenv.Seed(t)
	for i, name := range slices.Sorted(maps.Keys(files)) {
		text := strings.ReplaceAll(files[name], "MARK", marker)
		for _, file := range []string{"foreign.yaml", "config/trainweld.yaml", "policy/policy.yaml",
			"patch/patch.yaml", "cases/a/options.yaml", "cases/b/want/default_llm.yaml",
			"out/.trainweld-files",
			"resource/foreign.yaml", "kustomization/kustomization.yaml"} {
			testenv.WriteIn(t, ".", file, text)
		}
		for j, line := range foreignLines() {
			if (first+uint64(i+j))%every != 0 {
				continue
			}
			words := strings.Fields(strings.ReplaceAll(line, "FILE", "foreign.yaml"))
			var stdout, stderr bytes.Buffer
			p := host.Program{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
				Files: host.Files{}}
			if last := len(words) - 1; words[last] == "<" {
				words, p.Stdin = words[:last], strings.NewReader(text)
			}
			runLine(&p, words)
			said := stderr.String()
			if !slices.Contains([]string{"render", "merge", "migrate", "fn"}, words[0]) {
				said += stdout.String()
			}
			for said := range strings.Lines(said) {
				if strings.Contains(strings.ToLower(said), strings.ToLower(marker)) {
					t.Errorf("%s: %s: %.200s", name, line, said)
				}
			}
		}
	}
	if left, err := os.ReadFile("job.yaml"); err != nil || string(left) != job {
		t.Errorf("job.yaml was changed: %s, %v", left, err)
	}
}
