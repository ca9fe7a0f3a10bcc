package kube

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"bgbench/pkg/cli"
	"bgbench/pkg/deploy/tunnel"
)

// Cluster is a connection to an API server.
type Cluster struct {
	Context string // of the kubeconfig; empty inside a cluster
	Version string // of the server

	config  *rest.Config
	dynamic dynamic.Interface
	raw     rest.Interface
	kinds   discovery.CachedDiscoveryInterface
	mapper  meta.RESTMapper
}

// Connect reads the kubeconfig and asks the server who it is.
func Connect(kubeconfig, kubeContext string) (*Cluster, error) {
	config, kubeContext, err := tunnel.Config(kubeconfig, kubeContext)
	if err != nil {
		return nil, err
	}
	// A cell applies some thirty objects and asks often how they are; the default of 5
	// requests a second would make most of the time waiting.
	config.QPS, config.Burst = 50, 100
	return connect(config, kubeContext)
}

func connect(config *rest.Config, kubeContext string) (*Cluster, error) {
	c := &Cluster{Context: kubeContext, config: config}
	var err error
	if c.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", config.Host, err)
	}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", config.Host, err)
	}
	c.raw = client.RESTClient()
	c.kinds = memory.NewMemCacheClient(client)
	c.mapper = restmapper.NewDeferredDiscoveryRESTMapper(c.kinds)
	version, err := client.ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", config.Host, err)
	}
	c.Version = version.GitVersion
	return c, nil
}

// client is the client for the objects of a kind, in namespace where they have one.
func (c *Cluster) client(gvk schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	m, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		c.kinds.Invalidate() // somebody may have installed it a moment ago
		m, err = c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	}
	if err != nil {
		return nil, err
	}
	if m.Scope.Name() == meta.RESTScopeNameNamespace {
		return c.dynamic.Resource(m.Resource).Namespace(namespace), nil
	}
	return c.dynamic.Resource(m.Resource), nil
}

// serves reports whether the API server has a kind.
func (c *Cluster) serves(gvk schema.GroupVersionKind) bool {
	_, err := c.client(gvk, "")
	return err == nil
}

// apply brings o to what it says: server-side, as one of possibly several owners of its
// fields. A field that another manager holds with another value is an error, and stays.
func (c *Cluster) apply(ctx context.Context, o *unstructured.Unstructured) error {
	client, err := c.client(o.GroupVersionKind(), o.GetNamespace())
	if err == nil {
		_, err = client.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: managedBy})
	}
	if apierrors.IsConflict(err) {
		return cli.WithHint(fmt.Errorf("applying %s: %w", title(o), err),
			"another tool owns those fields: end what it does there, or take another namespace")
	}
	return explained("applying "+title(o), err)
}

// get reads one object; nil where there is none.
func (c *Cluster) get(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	client, err := c.client(gvk, namespace)
	if err != nil {
		return nil, explained("reading "+gvk.Kind+" "+name, err)
	}
	o, err := client.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return o, explained("reading "+gvk.Kind+" "+name, err)
}

// list reads the objects of a kind that a selector picks; none of a kind that the
// server does not have.
func (c *Cluster) list(ctx context.Context, gvk schema.GroupVersionKind, namespace, selector string) ([]unstructured.Unstructured, error) {
	client, err := c.client(gvk, namespace)
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, explained("listing "+gvk.Kind, err)
	}
	l, err := client.List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, explained("listing "+gvk.Kind, err)
	}
	return l.Items, nil
}

// explained adds what an administrator has to know to an error of the API server.
func explained(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return cli.WithHint(fmt.Errorf("%s: %w", doing, err), "the rights that bg-deploy needs: bg-deploy rbac")
	case meta.IsNoMatchError(err):
		return cli.WithHint(fmt.Errorf("%s: %w", doing, err), "install its CustomResourceDefinition")
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// lost reports whether err says that the API server could not be reached or asked for
// patience, so that the same question may have an answer later.
func lost(err error) bool {
	var unreachable *url.Error
	return errors.As(err, &unreachable) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err)
}

// title names an object in messages.
func title(o *unstructured.Unstructured) string {
	if o.GetNamespace() == "" {
		return o.GetKind() + " " + o.GetName()
	}
	return o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
}

// Kinds that we ask for by name.
var (
	kindNamespace   = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	kindPod         = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	kindSecret      = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	kindConfigMap   = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	kindEvent       = schema.GroupVersionKind{Version: "v1", Kind: "Event"}
	kindNode        = schema.GroupVersionKind{Version: "v1", Kind: "Node"}
	kindVolume      = schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolume"}
	kindDeployment  = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	kindStatefulSet = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}
	kindRole        = schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}
	kindRoleBinding = schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRoleBinding"}
	kindPool        = schema.GroupVersionKind{Group: poolGroup, Version: "v1", Kind: "InferencePool"}
	kindObjective   = schema.GroupVersionKind{Group: objectiveGroup, Version: "v1alpha2", Kind: "InferenceObjective"}
)
