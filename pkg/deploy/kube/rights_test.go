//go:build kube

package kube

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// passedOn are rights that the roles of charts hold, which only one who has them may
// give: bg-deploy itself asks for none of them.
var passedOn = []string{
	"get pods", "watch pods", "create tokenreviews.authentication.k8s.io", "create subjectaccessreviews.authorization.k8s.io",
	"get inferencepools.inference.networking.k8s.io", "list inferencepools.inference.networking.k8s.io", "watch inferencepools.inference.networking.k8s.io",
	"get inferenceobjectives.llm-d.ai", "watch inferenceobjectives.llm-d.ai",
	"get inferenceobjectives.inference.networking.x-k8s.io", "list inferenceobjectives.inference.networking.x-k8s.io", "watch inferenceobjectives.inference.networking.x-k8s.io",
	"get inferencemodelrewrites.llm-d.ai", "list inferencemodelrewrites.llm-d.ai", "watch inferencemodelrewrites.llm-d.ai",
	"get inferencemodelrewrites.inference.networking.x-k8s.io", "list inferencemodelrewrites.inference.networking.x-k8s.io", "watch inferencemodelrewrites.inference.networking.x-k8s.io",
}

// elsewhere are rights that other clusters and charts take: servers that want to create a
// stream, a Prometheus operator, KServe, a batch gateway whose processor is a StatefulSet.
var elsewhere = []string{
	"get pods/exec", "create pods/exec", "get pods/portforward", "create pods/portforward",
	"create podmonitors.monitoring.coreos.com", "patch podmonitors.monitoring.coreos.com",
	"create servicemonitors.monitoring.coreos.com", "patch servicemonitors.monitoring.coreos.com",
	"get llminferenceservices.serving.kserve.io", "create llminferenceservices.serving.kserve.io", "patch llminferenceservices.serving.kserve.io",
	"get statefulsets.apps", "create statefulsets.apps", "patch statefulsets.apps",
}

// usedItsRights holds the rights of rbac.yaml against what the account asked for during
// all tests: none was missing, and, where all of them ran, none is there for nothing.
func usedItsRights(all bool) error {
	used, denied, err := requests(os.Getenv("BG_CLUSTER_AUDIT"))
	if err != nil || used == nil {
		return err
	}
	rights, err := rightsOf(RBAC)
	if err != nil {
		return err
	}
	// An API server that was away refuses all until it has read the roles.
	denied = slices.DeleteFunc(denied, func(right string) bool { return slices.Contains(rights, right) })
	if len(denied) > 0 {
		return fmt.Errorf("the rights that we ship do not have: %s", strings.Join(denied, ", "))
	}
	if !all || os.Getenv("BG_TEST_ARMS") != "" || flag.Lookup("test.run").Value.String() != "" {
		return nil
	}
	idle := slices.DeleteFunc(rights, func(right string) bool {
		// To apply what is not there yet takes the right to create it; the request is a patch.
		object, creates := strings.CutPrefix(right, "create ")
		return used[right] || creates && used["patch "+object] || slices.Contains(passedOn, right) || slices.Contains(elsewhere, right)
	})
	if len(idle) > 0 {
		return fmt.Errorf("the rights that we ship have what nobody used: %s", strings.Join(idle, ", "))
	}
	fmt.Printf("rights of rbac.yaml: none missing, none idle, %d used\n", len(used))
	return nil
}

// rightsOf lists what the ClusterRoles of a manifest allow, as "verb resource.group".
func rightsOf(manifest string) ([]string, error) {
	objects, err := decodeObjects(manifest)
	if err != nil {
		return nil, err
	}
	var rights []string
	for _, o := range objects {
		if o.GetKind() != kindRole.Kind {
			continue
		}
		role, err := roleOf(o)
		if err != nil {
			return nil, err
		}
		for _, rule := range role.Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						rights = append(rights, right(verb, group, resource))
					}
				}
			}
		}
	}
	return rights, nil
}

func roleOf(o *unstructured.Unstructured) (role rbacv1.ClusterRole, err error) {
	err = runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role)
	return role, err
}

func right(verb, group, resource string) string {
	if group == "" {
		return verb + " " + resource
	}
	if name, sub, ok := strings.Cut(resource, "/"); ok {
		return verb + " " + name + "." + group + "/" + sub
	}
	return verb + " " + resource + "." + group
}

// requests reads from the API server's log what the account asked for; used is nil where
// there is no log.
func requests(file string) (used map[string]bool, denied []string, err error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) || file == "" {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	used = map[string]bool{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct {
			Verb string `json:"verb"`
			User struct {
				Username string `json:"username"`
			} `json:"user"`
			Object struct {
				Resource    string `json:"resource"`
				Subresource string `json:"subresource"`
				Group       string `json:"apiGroup"`
			} `json:"objectRef"`
			Annotations map[string]string `json:"annotations"`
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return nil, nil, fmt.Errorf("the log of requests: %w", err)
		}
		if event.Object.Resource == "" || event.User.Username != "system:serviceaccount:bg-deploy:bg-deploy" {
			continue
		}
		resource := event.Object.Resource
		if event.Object.Subresource != "" {
			resource += "/" + event.Object.Subresource
		}
		asked := right(event.Verb, event.Object.Group, resource)
		used[asked] = true
		if event.Annotations["authorization.k8s.io/decision"] == "forbid" && !slices.Contains(denied, asked) {
			denied = append(denied, asked)
		}
	}
	return used, denied, lines.Err()
}
