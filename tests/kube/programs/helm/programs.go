//go:build programs

// Package programs names what the tests build from these modules, so that go.sum is complete.
package programs

import _ "helm.sh/helm/v3/cmd/helm"
