//go:build programs

// Package programs names what the tests build from these modules, so that go.sum is complete.
package programs

import (
	_ "sigs.k8s.io/jobset"
	_ "sigs.k8s.io/lws/cmd"
)
