package kube

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (c Cell) namespace() *corev1.Namespace {
	return &corev1.Namespace{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{
			Name:        c.Namespace,
			Annotations: map[string]string{annotationRequest: c.request()},
		},
	}
}

// request is the digest of everything that was asked for but the run: two ups of one
// request make the same objects.
func (c Cell) request() string {
	plan := c.Plan
	plan.RunID = ""
	options := c.Options
	options.Registry = Registry{}
	text, err := json.Marshal(struct {
		Plan    any
		Options any
	}{plan, options})
	if err != nil {
		panic(err) // plain data
	}
	return digest(text)
}

// digest is short enough to read and long enough to tell two texts apart.
func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
