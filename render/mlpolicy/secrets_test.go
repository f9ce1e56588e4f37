package mlpolicy

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
)

func secretsJob(uid string) *Job {
	job := &trainer.TrainJob{}
	job.Name, job.Namespace, job.UID = "tj", "ns", "uid"
	if uid == "" {
		job.UID = ""
	}
	return &Job{Input: Input{TrainJob: job}}
}

func numbered(seed byte) io.Reader { return rand.NewChaCha8([32]byte{seed}) }

// TestSSHKey_Valid reads the pair as ssh and mpirun would. The private half is SEC 1 in PEM, and
// the public half is OpenSSH's one line. The two belong together.
func TestSSHKey_Valid(t *testing.T) {
	secret, err := secretsJob("uid").sshSecret(numbered(1))
	if err != nil {
		t.Fatal(err)
	}
	if secret.Type != corev1.SecretTypeSSHAuth || secret.Immutable == nil || !*secret.Immutable {
		t.Errorf("the Secret is of type %s, immutable %v", secret.Type, secret.Immutable)
	}
	block, rest := pem.Decode(secret.Data["ssh-privatekey"])
	if block == nil || block.Type != "EC PRIVATE KEY" || len(rest) > 0 {
		t.Fatalf("not one PEM block of an EC key: %v", block)
	}
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if upstream, err := x509.MarshalECPrivateKey(key); err != nil ||
		!bytes.Equal(block.Bytes, upstream) {
		t.Errorf("the key is %x, want %x as the controller encodes it, %v", block.Bytes,
			upstream, err)
	}
	if name := key.Curve.Params().Name; name != "P-521" {
		t.Errorf("the curve is %s", name)
	}
	public := string(secret.Data["ssh-publickey"])
	fields := strings.Fields(public)
	if len(fields) != 2 || fields[0] != "ecdsa-sha2-nistp521" || !strings.HasSuffix(public, "\n") {
		t.Fatalf("not a line of authorized_keys: %q", public)
	}
	blob, err := base64.StdEncoding.DecodeString(fields[1])
	if err != nil {
		t.Fatal(err)
	}
	point, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	want := "\x00\x00\x00\x13ecdsa-sha2-nistp521\x00\x00\x00\x08nistp521\x00\x00\x00\x85" +
		string(point)
	if string(blob) != want {
		t.Errorf("the public key is %x, want %x", blob, want)
	}
	if _, err := ecdsa.ParseUncompressedPublicKey(
		key.Curve, blob[len(blob)-len(point):]); err != nil {
		t.Error(err)
	}
}

// TestKeysComeFromTheReader checks that only the reader decides a key. Equal bytes make equal keys,
// other bytes make other keys, and too few make none.
func TestKeysComeFromTheReader(t *testing.T) {
	makers := map[string]func(*Job, io.Reader) (*corev1.Secret, error){
		"ssh": (*Job).sshSecret, "curve": (*Job).curveSecret}
	for name, make := range makers {
		var data [3]string
		for i, seed := range []byte{1, 1, 2} {
			secret, err := make(secretsJob(""), numbered(seed))
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range []string{"ssh-privatekey", "curve.cert"} {
				data[i] += string(secret.Data[key])
			}
		}
		if data[0] != data[1] || data[0] == data[2] {
			t.Errorf("%s: the reader does not decide the key", name)
		}
		if _, err := make(secretsJob(""), bytes.NewReader([]byte("too few"))); err == nil {
			t.Errorf("%s: seven bytes made a key", name)
		}
	}
}

// TestCurveKey_UID checks the controller's derivation. The certificate of a TrainJob of the cluster
// is the one that its controller makes. It needs no random bytes.
func TestCurveKey_UID(t *testing.T) {
	job := secretsJob("uid")
	job.TrainJob.UID = "00000000-0000-4000-8000-000000000001"
	secret, err := job.curveSecret(bytes.NewReader(nil))
	if err != nil {
		t.Fatal(err)
	}
	// Trainer v2.3.0 made this key of that uid.
	const public = `public-key = "{)@?9CQOK8.bF/f?S#wXtHO*:&3SyMM]Cg=51zK3"`
	if text := string(secret.Data["curve.cert"]); !strings.Contains(text, public) {
		t.Errorf("want %s in\n%s", public, text)
	}
}

// TestZ85 is the example of ZeroMQ's RFC 32.
func TestZ85(t *testing.T) {
	if got := z85([]byte{0x86, 0x4F, 0xD2, 0x6F, 0xB5, 0x59, 0xF7, 0x5B}); got != "HelloWorld" {
		t.Errorf("got %q", got)
	}
}
