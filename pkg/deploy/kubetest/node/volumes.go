package main

import (
	"context"
	"log"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// provisioner makes a volume for every claim that has none, and removes it with the
// claim: a class named hostpath, and the default of claims that name none.
type provisioner struct {
	client kubernetes.Interface
	folder string
}

func (p provisioner) claims(ctx context.Context) cache.ResourceEventHandler {
	handle := func(o any) {
		if claim, ok := o.(*corev1.PersistentVolumeClaim); ok && claim.Status.Phase == corev1.ClaimPending && claim.Spec.VolumeName == "" {
			if err := p.provision(ctx, claim); err != nil && !apierrors.IsAlreadyExists(err) {
				log.Printf("claim %s/%s: %v", claim.Namespace, claim.Name, err)
			}
		}
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: handle, UpdateFunc: func(_, o any) { handle(o) }}
}

func (p provisioner) provision(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	name := "pvc-" + string(claim.UID)
	folder := filepath.Join(p.folder, name)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	// Pods run as ordinary users, and a folder of the machine knows no fsGroup.
	if err := os.Chmod(folder, 0o777); err != nil {
		return err
	}
	class := ""
	if claim.Spec.StorageClassName != nil {
		class = *claim.Spec.StorageClassName
	}
	_, err := p.client.CoreV1().PersistentVolumes().Create(ctx, &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      claim.Spec.Resources.Requests,
			AccessModes:                   claim.Spec.AccessModes,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain, // we delete it ourselves
			StorageClassName:              class,
			ClaimRef: &corev1.ObjectReference{
				Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: folder}},
		},
	}, metav1.CreateOptions{})
	return err
}

func (p provisioner) volumes(ctx context.Context) cache.ResourceEventHandler {
	handle := func(o any) {
		v, ok := o.(*corev1.PersistentVolume)
		if !ok || v.Status.Phase != corev1.VolumeReleased || v.Spec.HostPath == nil {
			return
		}
		if err := p.client.CoreV1().PersistentVolumes().Delete(ctx, v.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			log.Printf("volume %s: %v", v.Name, err)
			return
		}
		if err := os.RemoveAll(v.Spec.HostPath.Path); err != nil {
			log.Print(err)
		}
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: handle, UpdateFunc: func(_, o any) { handle(o) }}
}
