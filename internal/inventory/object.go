package inventory

import (
	"time"

	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/operator"
)

// The type of the objects that Object returns. No cluster has such a kind.
const (
	APIVersion   = "cli.operatorstatus.io/v1alpha1"
	KindOperator = "Operator"
)

// Object returns an operator as the value of a JSON object. Its texts are safe to show.
func Object(op operator.Operator) map[string]any {
	object := map[string]any{
		"apiVersion": APIVersion, "kind": KindOperator,
		"metadata": map[string]any{"namespace": op.Namespace, "name": op.Name},
		"state":    string(op.State),
		"upToDate": string(op.UpToDate), "upgradeable": string(op.Upgradeable),
	}
	if op.Approval != nil {
		object["approval"] = map[string]any{"installPlan": op.Approval.Plan, "installs": values(op.Approval.Installs)}
	}
	for field, value := range map[string]string{
		"package": op.Package, "channel": op.Channel, "catalog": op.Catalog, "platformOperator": op.PlatformOperator,
		"clusterServiceVersion": op.Installed, "installer": op.Installer, "version": op.Version, "update": op.Update, "limited": op.Limited, "blocked": string(op.Blocked()),
	} {
		if value != "" {
			object[field] = value
		}
	}
	if len(op.Unread) > 0 {
		object["unread"] = values(op.Unread)
	}
	for field, all := range map[string][]operator.Blocker{"blockers": op.Blockers, "wouldHold": op.WouldHold, "notices": op.Notices} {
		var blockers []any
		for _, b := range all {
			blockers = append(blockers, blockerObject(b))
		}
		if len(blockers) > 0 {
			object[field] = blockers
		}
	}
	sanitize(object)
	return object
}

func values(texts []string) []any {
	out := make([]any, 0, len(texts))
	for _, text := range texts {
		out = append(out, text)
	}
	return out
}

func blockerObject(b operator.Blocker) map[string]any {
	out := map[string]any{"impact": string(b.Impact), "by": b.By, "reason": b.Reason, "cause": b.Cause}
	if !b.Since.IsZero() {
		out["since"] = b.Since.UTC().Format(time.RFC3339)
	}
	var steps []any
	for _, s := range b.Steps {
		steps = append(steps, map[string]any{"to": s.To, "command": s.Command})
	}
	if len(steps) > 0 {
		out["steps"] = steps
	}
	return out
}

// outline returns a tree as the value of a JSON object. Its texts are not safe to show.
func outline(n operator.Node) map[string]any {
	out := map[string]any{"name": n.Name, "state": n.State}
	for field, value := range map[string]string{"message": n.Message, "resource": n.Resource} {
		if value != "" {
			out[field] = value
		}
	}
	var children []any
	for _, child := range n.Children {
		children = append(children, outline(child))
	}
	if len(children) > 0 {
		out["children"] = children
	}
	return out
}

// sanitize makes each text in a value safe to show. YAML cannot represent some of the others.
func sanitize(value any) any {
	switch v := value.(type) {
	case string:
		return messages.Line(v)
	case []any:
		for i := range v {
			v[i] = sanitize(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = sanitize(v[key])
		}
	}
	return value
}
