package kube

import (
	"context"
	"fmt"
	"io"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Down deletes everything that the run made and waits until it is gone. runID "" is the
// run that the namespace names. Nothing is deleted that does not carry both labels.
func (c *Cluster) Down(ctx context.Context, namespace, runID string, talk io.Writer) error {
	ns, err := c.get(ctx, kindNamespace, "", namespace)
	if err != nil {
		return err
	}
	if ns != nil {
		if err := owned(ns); err != nil {
			return err
		}
		found := ns.GetLabels()[LabelRun]
		if runID != "" && found != runID {
			return fmt.Errorf("namespace %s: found run %s, expected %s: %w", namespace, found, runID, ErrNotOurs)
		}
		runID = found
		if err := c.deleteNamespace(ctx, ns, talk); err != nil {
			return err
		}
	}
	if runID != "" {
		if err := c.deleteClusterScoped(ctx, runID, talk); err != nil {
			return err
		}
	}
	return c.listLeftovers(ctx, namespace, talk)
}

func (c *Cluster) deleteNamespace(ctx context.Context, ns *unstructured.Unstructured, talk io.Writer) error {
	client, err := c.client(kindNamespace, "")
	if err != nil {
		return explained("deleting "+title(ns), err)
	}
	uid := ns.GetUID()
	err = client.Delete(ctx, ns.GetName(), metav1.DeleteOptions{
		PropagationPolicy: &foreground, Preconditions: &metav1.Preconditions{UID: &uid},
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return explained("deleting "+title(ns), err)
	}
	return await(ctx, talk, "the end of namespace "+ns.GetName(), func(ctx context.Context) (string, error) {
		now, err := c.get(ctx, kindNamespace, "", ns.GetName())
		if err != nil {
			return "", err
		}
		if now == nil || now.GetUID() != uid {
			return "", nil
		}
		return remaining(now), errNotYet
	})
}

// remaining is what the namespace controller says it still waits for: objects, and
// finalizers that somebody has to take off.
func remaining(ns *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(ns.Object, "status", "conditions")
	var texts []string
	for _, item := range conditions {
		c, ok := item.(map[string]any)
		if !ok || c["status"] != "True" {
			continue
		}
		texts = append(texts, fmt.Sprint(c["message"]))
	}
	if len(texts) == 0 {
		return "its objects are being deleted"
	}
	return strings.Join(texts, "; ")
}

// deleteClusterScoped deletes what charts made outside the namespace.
func (c *Cluster) deleteClusterScoped(ctx context.Context, runID string, talk io.Writer) error {
	selector := LabelManagedBy + "=" + managedBy + "," + LabelRun + "=" + runID
	for _, kind := range []string{kindRoleBinding.Kind, kindRole.Kind} {
		gvk := kindRole
		gvk.Kind = kind
		items, err := c.list(ctx, gvk, "", selector)
		if err != nil {
			return err
		}
		client, err := c.client(gvk, "")
		if err != nil {
			return explained("deleting "+kind, err)
		}
		for _, o := range items {
			fmt.Fprintf(talk, "deleting %s\n", title(&o))
			if err := client.Delete(ctx, o.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				return explained("deleting "+title(&o), err)
			}
		}
	}
	return nil
}

// listLeftovers names the volumes that the namespace had and the cluster keeps, because
// their class says so: they are not ours to delete.
func (c *Cluster) listLeftovers(ctx context.Context, namespace string, talk io.Writer) error {
	volumes, err := c.list(ctx, kindVolume, "", "")
	if apierrors.IsForbidden(err) {
		return nil // who may not list volumes need not be told of them
	}
	if err != nil {
		return err
	}
	for _, v := range volumes {
		owner, _, _ := unstructured.NestedString(v.Object, "spec", "claimRef", "namespace")
		policy, _, _ := unstructured.NestedString(v.Object, "spec", "persistentVolumeReclaimPolicy")
		if owner == namespace && policy == "Retain" {
			fmt.Fprintf(talk, "left: %s, whose class retains volumes\n", title(&v))
		}
	}
	return nil
}
