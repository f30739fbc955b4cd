//go:build tools

// Package etcd imports the etcd server that a devcluster builds, to pin its version.
package etcd

import _ "go.etcd.io/etcd/server/v3"
