package kube

import (
	"cmp"
	"fmt"

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
	mode := corev1.ReadWriteOnce
	if name == filesVolume && !c.small() {
		mode = corev1.ReadWriteMany // apiserver and processor may stand on two nodes
	}
	return &corev1.PersistentVolumeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       claimOf(c.StorageClass, c.VolumeSize, mode),
	}
}

// CheckVolumeSize refuses what is no size of a volume; empty is the default.
func CheckVolumeSize(size string) error {
	quantity, err := resource.ParseQuantity(cmp.Or(size, defaultVolumeSize))
	if err != nil || quantity.Sign() <= 0 {
		return fmt.Errorf("--volume-size: found %q, expected a size such as %s", size, defaultVolumeSize)
	}
	return nil
}

// claimOf asks for a volume of a class, the cluster's default where it is empty.
func claimOf(class, size string, mode corev1.PersistentVolumeAccessMode) corev1.PersistentVolumeClaimSpec {
	claim := corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{mode},
		Resources: corev1.VolumeResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(cmp.Or(size, defaultVolumeSize))},
		},
	}
	if class != "" {
		claim.StorageClassName = &class
	}
	return claim
}
