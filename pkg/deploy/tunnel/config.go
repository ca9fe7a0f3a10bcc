package tunnel

import (
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"bgbench/pkg/cli"
)

// UserAgent is how our tools name themselves to API servers.
const UserAgent = "bg-deploy"

// Config reads the kubeconfig as kubectl does (the file named, KUBECONFIG, the home
// directory, the pod's own account). inUse is the context that it names; empty inside a
// cluster.
func Config(kubeconfig, kubeContext string) (config *rest.Config, inUse string, err error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: kubeContext})
	config, err = loader.ClientConfig()
	if err != nil {
		return nil, "", cli.Usage(cli.WithHint(fmt.Errorf("finding the cluster: %w", err), "name it: --context NAME, KUBECONFIG=FILE"))
	}
	config.UserAgent = UserAgent
	if raw, err := loader.RawConfig(); err == nil && kubeContext == "" {
		kubeContext = raw.CurrentContext
	}
	return config, kubeContext, nil
}
