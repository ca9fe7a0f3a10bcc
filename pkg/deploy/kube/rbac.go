package kube

import _ "embed"

// RBAC is the manifest of the rights that this package needs.
//
//go:embed rbac.yaml
var RBAC string
