package kube

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// engine is the pool of model servers and the Service before them.
func (c Cell) engine() ([]runtime.Object, error) {
	container := c.modelServer()
	container.ImagePullPolicy = corev1.PullIfNotPresent
	container.Ports = []corev1.ContainerPort{containerPort("modelserver", enginePort)}
	container.ReadinessProbe = httpProbe("/health", enginePort, 2, 3)
	// Loading a large model takes its time: half an hour, until the container is
	// restarted.
	container.StartupProbe = httpProbe("/health", enginePort, 2, 900)
	pod := corev1.PodSpec{Containers: []corev1.Container{container}, NodeSelector: c.NodeSelector}
	for _, key := range c.Tolerations {
		pod.Tolerations = append(pod.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists})
	}
	if c.Mode == ModeGPU {
		// Ranks of a replica talk through shared memory, of which a pod has 64 MiB.
		pod.Volumes = []corev1.Volume{{Name: "shm", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}}}
		pod.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "shm", MountPath: "/dev/shm"}}
	}
	if c.WeightsPath != "" {
		// A claim would go with the cell's namespace, and the weights with it.
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "weights", VolumeSource: corev1.VolumeSource{
			HostPath: &corev1.HostPathVolumeSource{Path: c.WeightsPath, Type: ptr(corev1.HostPathDirectoryOrCreate)},
		}})
		server := &pod.Containers[0]
		server.VolumeMounts = append(server.VolumeMounts, corev1.VolumeMount{Name: "weights", MountPath: weightsMount})
		server.Env = append(server.Env, corev1.EnvVar{Name: "HF_HOME", Value: weightsMount})
	}
	before := service(engineName, servicePort("modelserver", enginePort))
	if c.Pool == PoolKServe {
		pool, err := c.llmInferenceService(pod)
		return []runtime.Object{pool, before}, err
	}
	return []runtime.Object{c.deployment(engineName, c.Plan.Arm.Engine.Replicas, pod), before}, nil
}

// keyToken is the key of the model's token in its Secret.
const keyToken = "token"

// tokenPlaceholder stands in what is rendered for the token that up is given.
const tokenPlaceholder = "GIVEN-AT-UP"

// tokenSecret has the token with which model servers fetch a gated model.
func (c Cell) tokenSecret(token string) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: tokenSecretName},
		StringData: map[string]string{keyToken: token},
	}
}

// weightsMount is where the files of a model's repository are in a model server's pod.
const weightsMount = "/weights"

// modelServer is the container that serves the model.
func (c Cell) modelServer() corev1.Container {
	container := c.vllm()
	if c.Mode == ModeSim {
		container = c.inferenceSim()
	}
	container.Name = c.engineContainer()
	return container
}

// vllm is vLLM with every key of the arm as its flag, whatever its default is today.
func (c Cell) vllm() corev1.Container {
	e := c.Plan.Arm.Engine
	args := []string{
		c.Plan.Model,
		"--port=" + strconv.Itoa(enginePort),
		"--max-model-len=" + strconv.Itoa(c.Plan.MaxModelLen),
		"--max-num-seqs=" + strconv.Itoa(e.MaxNumSeqs),
		"--max-num-batched-tokens=" + strconv.Itoa(e.MaxNumBatchedTokens),
		"--tensor-parallel-size=" + strconv.Itoa(max(1, e.TensorParallelSize)),
		"--gpu-memory-utilization=" + strconv.FormatFloat(e.GPUMemoryUtilization, 'f', -1, 64),
		"--block-size=" + strconv.Itoa(e.BlockSize),
		"--scheduling-policy=" + e.SchedulingPolicy,
		boolFlag("enable-prefix-caching", e.EnablePrefixCaching),
		boolFlag("enable-chunked-prefill", e.EnableChunkedPrefill),
		boolFlag("async-scheduling", e.AsyncScheduling),
	}
	if e.NumGPUBlocks > 0 {
		args = append(args, "--num-gpu-blocks-override="+strconv.Itoa(e.NumGPUBlocks))
	}
	if r := c.revision(); r != "" {
		args = append(args, "--revision="+r, "--tokenizer-revision="+r)
	}
	container := corev1.Container{
		Image:   c.image(imageVLLM).String(),
		Command: []string{"vllm", "serve"},
		Args:    args,
		Env: []corev1.EnvVar{{Name: "HF_TOKEN", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: tokenSecretName}, Key: keyToken, Optional: ptr(true),
		}}}},
	}
	if c.GPUs > 0 {
		gpus := corev1.ResourceList{"nvidia.com/gpu": *resource.NewQuantity(int64(c.GPUs), resource.DecimalSI)}
		container.Resources = corev1.ResourceRequirements{Requests: gpus, Limits: gpus}
	} else {
		container.Resources = resources("100m", "128Mi", "2Gi")
	}
	return container
}

// boolFlag is a boolean flag of vLLM, said either way.
func boolFlag(name string, on bool) string {
	if on {
		return "--" + name
	}
	return "--no-" + name
}

// inferenceSim answers with tokens at a fixed pace. Its queue is unbounded here, as
// vLLM's is; by default it refuses the thousandth waiting request.
func (c Cell) inferenceSim() corev1.Container {
	return corev1.Container{
		Image: c.image(imageInferenceSim).String(),
		Args: []string{
			"--model=" + c.Plan.Model,
			"--port=" + strconv.Itoa(enginePort),
			"--max-model-len=" + strconv.Itoa(c.Plan.MaxModelLen),
			"--max-num-seqs=" + strconv.Itoa(c.Plan.Arm.Engine.MaxNumSeqs),
			"--max-waiting-queue-length=1000000",
			"--time-to-first-token=100ms",
			"--inter-token-latency=10ms",
			"--force-dummy-tokenizer",
			"--seed=" + strconv.FormatInt(c.Plan.Seed, 10),
		},
		Env: []corev1.EnvVar{
			fromField("POD_NAME", "metadata.name"), fromField("POD_NAMESPACE", "metadata.namespace"), fromField("POD_IP", "status.podIP"),
		},
		Resources: resources("100m", "128Mi", "2Gi"),
	}
}

func fromField(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}

func ptr[T any](v T) *T { return &v }
