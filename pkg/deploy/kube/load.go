package kube

import (
	"context"
	"fmt"
	"io"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"bgbench/pkg/cli"
	"bgbench/pkg/deploy"
)

// LoadOptions say what the load generator in the cluster replays.
type LoadOptions struct {
	Stack  deploy.Stack
	Trial  int
	Inputs string // folder
	Output string // folder of the cell
	Image  Image  // of our tools
	Shards int    // pods that play the cell together; one when below 2
	// Of the volumes that each of several pods has to itself.
	StorageClass, VolumeSize string
	Talk                     io.Writer
}

// sharded reports whether several pods play the cell.
func (o LoadOptions) sharded() bool { return o.Shards > 1 }

// Names in the pod of the load generator. Its two helpers keep the pod alive around the
// measurement: one until the inputs are there, one until the results have been fetched.
const (
	loadJob   = "bg-load"
	labelJob  = "bgbench.dev/job"
	receiver  = "receive"
	generator = "load"
	deliverer = "deliver"

	inputsDir    = "/inputs"
	resultsDir   = "/results"
	cellDir      = resultsDir + "/cell"
	inputsWhole  = inputsDir + "/.complete"
	resultsTaken = resultsDir + "/.collected"
)

// Load plays one cell from a Job in its namespace and brings the results back. A Job
// that an earlier Load left running is waited for.
func (c *Cluster) Load(ctx context.Context, o LoadOptions) error {
	namespace := o.Stack.Kube.Namespace
	job, err := toUnstructured(o.job())
	if err != nil {
		return err
	}
	job.SetNamespace(namespace)
	status := 0
	err = c.Watched(ctx, namespace, o.Output, o.Talk, func() (err error) {
		if err := c.apply(ctx, job); err != nil {
			return err
		}
		if err := c.deliverInputs(ctx, o); err != nil {
			return err
		}
		if status, err = c.awaitLoad(ctx, o); err != nil {
			return err
		}
		return c.collect(ctx, o)
	})
	if err == nil && status != 0 {
		err = cli.StatusError{Code: status, Err: fmt.Errorf("the load generator ended with exit code %d", status)}
	}
	return err
}

// job scrapes every page of the stack for as long as it plays the cell, as a cell on
// loopback does.
func (o LoadOptions) job() *batchv1.Job {
	labels := map[string]string{
		LabelManagedBy: managedBy, LabelRun: o.Stack.RunID, labelJob: loadJob,
	}
	mounts := []corev1.VolumeMount{{Name: "inputs", MountPath: inputsDir}, {Name: "results", MountPath: resultsDir}}
	container := func(name string, command ...string) corev1.Container {
		return corev1.Container{
			Name: name, Image: o.Image.String(), ImagePullPolicy: corev1.PullIfNotPresent,
			Command: command, VolumeMounts: mounts, SecurityContext: restricted(),
		}
	}
	command := []string{
		"/bg-scrape", "run", "--stack", inputsDir + "/stack.json", "--trial", fmt.Sprint(max(1, o.Trial)), "-o", cellDir + "/metrics.parquet", "--",
		"/bg-load", "run", "--stack", inputsDir + "/stack.json", "--inputs", inputsDir + "/trial", "-o", cellDir,
	}
	spec := batchv1.JobSpec{BackoffLimit: ptr[int32](0)} // a second attempt would measure a stack that the first has used
	volumes := []corev1.Volume{claimed("inputs", inputsVolume), claimed("results", resultsVolume)}
	if o.sharded() {
		command = append([]string{"/bg-deploy", "files", "shard", "--of", fmt.Sprint(o.Shards), inputsWhole, "--"}, command...)
		spec.Completions, spec.Parallelism, spec.CompletionMode = ptr(int32(o.Shards)), ptr(int32(o.Shards)), ptr(batchv1.IndexedCompletion)
		volumes = []corev1.Volume{o.ownVolume("inputs"), o.ownVolume("results")}
	}
	measure := container(generator, command...)
	measure.Resources = resources("100m", "128Mi", "4Gi")
	spec.Template = corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec: corev1.PodSpec{
			RestartPolicy:  corev1.RestartPolicyNever,
			InitContainers: []corev1.Container{container(receiver, "/bg-deploy", "files", "await", inputsWhole)},
			Containers:     []corev1.Container{measure, container(deliverer, "/bg-deploy", "files", "await", resultsTaken)},
			Volumes:        volumes,
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: ptr(true), RunAsUser: ptr[int64](65532), RunAsGroup: ptr[int64](65532), FSGroup: ptr[int64](65532),
			},
		},
	}
	return &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{Name: loadJob, Labels: labels},
		Spec:       spec,
	}
}

func claimed(name, claim string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
	}}
}

// ownVolume is a volume that a shard's pod has to itself, on whatever node it is, and that
// goes with it.
func (o LoadOptions) ownVolume(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
		VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: claimOf(o.StorageClass, o.VolumeSize, corev1.ReadWriteOnce)},
	}}}
}
