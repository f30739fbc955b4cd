package node

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseHierarchies(t *testing.T) {
	cases := map[string]struct {
		reason    string
		mountinfo string
		want      []hierarchy
	}{
		"v1": {
			reason: "The controllers of version 1 are parsed from the mount options, without named hierarchies.",
			mountinfo: `31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:5 - cgroup cgroup rw,cpu,cpuacct
40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd
`,
			want: []hierarchy{
				{path: "/sys/fs/cgroup/cpu,cpuacct", controllers: []string{"rw", "cpu", "cpuacct"}},
				{path: "/sys/fs/cgroup/systemd", controllers: []string{"rw", "name=systemd"}},
			},
		},
		"v2": {
			reason:    "A hierarchy of version 2 has no controllers in its mount options.",
			mountinfo: "31 23 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n",
			want:      []hierarchy{{path: "/sys/fs/cgroup", v2: true}},
		},
		"elsewhere": {
			reason:    "A hierarchy outside /sys/fs/cgroup is ignored, since the kubelet would not find it.",
			mountinfo: "31 23 0:28 / /tmp/cgroup rw,nosuid - cgroup2 cgroup2 rw\n",
		},
		"cut short": {reason: "A truncated line is ignored.", mountinfo: "31 23\n\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := parseHierarchies(tc.mountinfo)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(hierarchy{})); diff != "" {
				t.Errorf("%s -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	v1 := []hierarchy{{controllers: needed[false]}, {v2: true}}
	cases := map[string]struct {
		reason  string
		uid     int
		missing string
		folder  string
		all     []hierarchy
		want    string // contained in the error, or empty for none
	}{
		"v1":         {reason: "Cgroups of version 1 are sufficient.", folder: "/usr/lib/cni", all: v1},
		"v2":         {reason: "Cgroups of version 2 are sufficient.", folder: "/opt/cni/bin", all: []hierarchy{{v2: true, controllers: needed[true]}}},
		"not root":   {reason: "A user other than root is an error.", uid: 1000, folder: "/usr/lib/cni", all: v1, want: "run it as root"},
		"no runc":    {reason: "The error for a missing program names the package to install.", missing: "runc", folder: "/usr/lib/cni", all: v1, want: "needs runc: install with apt-get install"},
		"no plugins": {reason: "Missing CNI plugins are an error.", all: v1, want: "needs CNI plugins: install with apt-get install"},
		"no cgroups": {reason: "Missing cgroups are an error.", folder: "/usr/lib/cni", want: "no cgroups are mounted"},
		"no memory": {reason: "A missing cgroup controller is an error.", folder: "/usr/lib/cni",
			all: []hierarchy{{v2: true, controllers: []string{"cpu", "cpuset", "pids"}}}, want: "missing below /sys/fs/cgroup: memory"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := Machine{
				UID: tc.uid,
				Find: func(program string) error {
					if program == tc.missing {
						return errMissing
					}
					return nil
				},
				Plugins: func(folder string) error {
					if folder != tc.folder {
						return errMissing
					}
					return nil
				},
				Hierarchies: func() ([]hierarchy, error) { return tc.all, nil },
			}.Check()
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("%s Check returned %v", tc.reason, err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n")):
				t.Errorf("%s Check returned %v, want one line with %q", tc.reason, err, tc.want)
			}
		})
	}
}

// errMissing is the error of a program or folder that does not exist.
var errMissing = errors.New("missing")
