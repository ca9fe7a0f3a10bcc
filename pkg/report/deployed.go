package report

import "strings"

// deployed is what target kube read back of the cell's stack, by what it is: charts with
// the digest of what was pulled, images as the pods name them with the digest that they
// run, the model at the commit that its servers were started with.
func deployed(metadata map[string]any) map[string]string {
	stack, _ := metadata["stack"].(map[string]any)
	kube, _ := stack["kube"].(map[string]any)
	found := map[string]string{}
	for name, version := range texts(kube["charts"]) {
		found["chart "+name] = version
	}
	digests := texts(kube["images"])
	for container, digest := range digests {
		found["image of "+container] = digest
	}
	for container, reference := range texts(kube["references"]) {
		found["image of "+container] = withDigest(reference, digests[container])
	}
	if revision, ok := kube["revision"].(string); ok && revision != "" {
		model, _ := stack["model"].(string)
		found["model "+model] = revision
	}
	return found
}

// withDigest puts the digest of what runs behind the name that was asked for, where the
// name does not have it already. A runtime names it as REPOSITORY@DIGEST.
func withDigest(reference, running string) string {
	digest := running[strings.LastIndexByte(running, '@')+1:]
	if digest == "" || strings.HasSuffix(reference, digest) {
		return reference
	}
	return reference + "@" + digest
}

// texts are the texts of a JSON object.
func texts(object any) map[string]string {
	found := map[string]string{}
	m, _ := object.(map[string]any)
	for k, v := range m {
		if text, ok := v.(string); ok {
			found[k] = text
		}
	}
	return found
}
