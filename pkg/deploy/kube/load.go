package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"bgbench/pkg/archive"
	"bgbench/pkg/cli"
	"bgbench/pkg/deploy"
	"bgbench/pkg/record"
)

// LoadOptions say what the load generator in the cluster replays.
type LoadOptions struct {
	Stack  deploy.Stack
	Trial  int
	Inputs string // folder
	Output string // folder of the cell
	Image  Image  // of our tools
	Talk   io.Writer
}

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
	watch, err := c.newWatch(ctx, namespace)
	if err != nil {
		return err
	}
	job, err := toUnstructured(o.job())
	if err != nil {
		return err
	}
	job.SetNamespace(namespace)
	if err := c.apply(ctx, job); err != nil {
		return err
	}
	if err := c.deliverInputs(ctx, o); err != nil {
		return err
	}
	watching, stop := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		watch.run(watching)
	}()
	status, err := c.awaitLoad(ctx, o)
	stop()
	<-watched
	if err != nil {
		return err
	}
	if err := c.collect(ctx, o); err != nil {
		return err
	}
	if err := watch.last(ctx); err != nil {
		return err
	}
	if err := cli.WriteFile(nil, filepath.Join(o.Output, record.DisturbancesFile), func(w io.Writer) error { return record.WriteDisturbances(w, watch.found) }); err != nil {
		return err
	}
	for _, d := range watch.found {
		fmt.Fprintf(o.Talk, "disturbed: %s of %s %s\n", d.Kind, d.Object, d.Detail)
	}
	if status != 0 {
		return cli.StatusError{Code: status, Err: fmt.Errorf("the load generator ended with exit code %d", status)}
	}
	return nil
}

// last looks for the last time, when an API server that was away must be back.
func (w *Watch) last(ctx context.Context) error {
	return await(ctx, io.Discard, "the pods of the cell", func(ctx context.Context) (string, error) {
		return "", w.look(ctx, time.Now())
	})
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
	measure := container(generator,
		"/bg-scrape", "run", "--stack", inputsDir+"/stack.json", "--trial", fmt.Sprint(max(1, o.Trial)), "-o", cellDir+"/metrics.parquet", "--",
		"/bg-load", "run", "--stack", inputsDir+"/stack.json", "--inputs", inputsDir+"/trial", "-o", cellDir)
	measure.Resources = resources("200m", "128Mi", "4Gi")
	no := int32(0)
	return &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{Name: loadJob, Labels: labels},
		Spec: batchv1.JobSpec{
			BackoffLimit: &no, // a second attempt would measure a stack that the first has used
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					RestartPolicy:  corev1.RestartPolicyNever,
					InitContainers: []corev1.Container{container(receiver, "/bg-deploy", "files", "await", inputsWhole)},
					Containers:     []corev1.Container{measure, container(deliverer, "/bg-deploy", "files", "await", resultsTaken)},
					Volumes:        []corev1.Volume{claimed("inputs", inputsVolume), claimed("results", resultsVolume)},
					SecurityContext: &corev1.PodSecurityContext{
						RunAsNonRoot: ptr(true), RunAsUser: ptr[int64](65532), RunAsGroup: ptr[int64](65532), FSGroup: ptr[int64](65532),
					},
				},
			},
		},
	}
}

func claimed(name, claim string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
	}}
}

// loadPod waits for the pod of the Job until look is content with it.
func (c *Cluster) loadPod(ctx context.Context, o LoadOptions, what string, look func(corev1.Pod) bool) (corev1.Pod, error) {
	var found corev1.Pod
	err := await(ctx, o.Talk, what, func(ctx context.Context) (string, error) {
		pods, err := c.pods(ctx, o.Stack.Kube.Namespace, labelJob+"="+loadJob)
		if err != nil {
			return "", err
		}
		if len(pods) == 0 {
			return "the Job has no pod yet", errNotYet
		}
		found = pods[len(pods)-1]
		if look(found) {
			return "", nil
		}
		if container, reason := stuck(found); reason != "" {
			return "", c.explain(ctx, "load generator", found, container, reason)
		}
		if found.Status.Phase == corev1.PodFailed {
			return "", c.explain(ctx, "load generator", found, "", "it failed: "+found.Status.Message)
		}
		return waiting(found), errNotYet
	})
	return found, err
}

// deliverInputs copies descriptor and inputs onto the volume. When the pod is past that
// already, they are there.
func (c *Cluster) deliverInputs(ctx context.Context, o LoadOptions) error {
	past := false
	pod, err := c.loadPod(ctx, o, "the load generator's pod", func(pod corev1.Pod) bool {
		for _, s := range pod.Status.InitContainerStatuses {
			past = s.State.Terminated != nil && s.State.Terminated.ExitCode == 0
			return past || s.State.Running != nil
		}
		return false
	})
	if err != nil || past {
		return err
	}
	descriptor, err := o.Stack.JSON()
	if err != nil {
		return err
	}
	files := []archive.Entry{
		{Name: "stack.json", Content: descriptor},
		{Name: "trial", Path: o.Inputs},
		{Name: filepath.Base(inputsWhole)}, // last: what was cut off is not whole
	}
	read, write := io.Pipe()
	go func() { write.CloseWithError(archive.Write(write, files)) }()
	defer read.Close()
	return c.run(ctx, pod.Namespace, pod.Name, receiver, []string{"/bg-deploy", "files", "put", inputsDir}, read, nil)
}

// awaitLoad waits until the generator has ended and returns its exit code.
func (c *Cluster) awaitLoad(ctx context.Context, o LoadOptions) (status int, err error) {
	_, err = c.loadPod(ctx, o, "the load generator", func(pod corev1.Pod) bool {
		for _, s := range pod.Status.ContainerStatuses {
			if s.Name == generator && s.State.Terminated != nil {
				status = int(s.State.Terminated.ExitCode)
				return true
			}
		}
		return false
	})
	return status, err
}

// collect fetches the results and lets the pod end. The log of the generator comes with
// them.
func (c *Cluster) collect(ctx context.Context, o LoadOptions) error {
	pod, err := c.loadPod(ctx, o, "the results", func(corev1.Pod) bool { return true })
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.Output, 0o755); err != nil {
		return fmt.Errorf("making the folder of the cell: %w", err)
	}
	log, err := c.logs(ctx, pod.Namespace, pod.Name, generator, 0, false)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(o.Output, "load.log"), []byte(log), 0o644); err != nil {
		return fmt.Errorf("writing the log of the load generator: %w", err)
	}
	fmt.Fprintln(o.Talk, strings.TrimRight(log, "\n"))
	read, write := io.Pipe()
	unpacked := make(chan error, 1)
	go func() {
		err := archive.Read(read, o.Output)
		read.CloseWithError(err)
		unpacked <- err
	}()
	err = c.run(ctx, pod.Namespace, pod.Name, deliverer, []string{"/bg-deploy", "files", "get", cellDir}, nil, write)
	write.CloseWithError(err)
	if err := errors.Join(err, <-unpacked); err != nil {
		return err
	}
	return c.run(ctx, pod.Namespace, pod.Name, deliverer, []string{"/bg-deploy", "files", "touch", resultsTaken}, nil, nil)
}
