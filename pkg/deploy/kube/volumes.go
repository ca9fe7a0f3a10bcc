package kube

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// volumes are claims for what the cell reads and writes: a ConfigMap holds 1 MiB, a
// cell's prompts are far more.
func (c Cell) volumes() []runtime.Object {
	claims := []runtime.Object{c.claim(inputsVolume), c.claim(resultsVolume)}
	if c.hasGateway() {
		claims = append(claims, c.claim(filesVolume))
	}
	return claims
}

func (c Cell) claim(name string) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(c.VolumeSize)},
			},
		},
	}
	if c.small() {
		return c.inClass(claim)
	}
	// apiserver and processor may stand on two nodes.
	if name == filesVolume {
		claim.Spec.AccessModes[0] = corev1.ReadWriteMany
	}
	return c.inClass(claim)
}

func (c Cell) inClass(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	if c.StorageClass != "" {
		claim.Spec.StorageClassName = &c.StorageClass
	}
	return claim
}
