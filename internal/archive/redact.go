package archive

import (
	"encoding/json"
	"regexp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// redacted replaces what may be secret.
const redacted = "REDACTED"

// Redact removes from an object what may be secret: the values of environment variables and of Secrets that it embeds, and
// credentials in arguments. It also removes managed fields.
func Redact(o *unstructured.Unstructured) {
	o.SetManagedFields(nil)
	annotations := o.GetAnnotations()
	delete(annotations, "kubectl.kubernetes.io/last-applied-configuration") // the same once more, as text
	if len(annotations) == 0 {
		annotations = nil
	}
	o.SetAnnotations(annotations)
	o.Object, _ = redact(o.Object).(map[string]any)
}

func redact(value any) any {
	switch value := value.(type) {
	case map[string]any:
		return redactObject(value)
	case []any:
		for i := range value {
			value[i] = redact(value[i])
		}
	case string:
		return RedactText(value)
	}
	return value
}

func redactObject(o map[string]any) map[string]any {
	isSecret := o["kind"] == "Secret" && o["apiVersion"] == "v1"
	for field, value := range o {
		_, isText := value.(string)
		switch {
		case isText && secretField.MatchString(field):
			o[field] = redacted
		case isSecret && (field == "data" || field == "stringData"):
			o[field] = map[string]any{}
		case field == "env":
			o[field] = redactVariables(value)
		case field == "manifest":
			o[field] = redactManifest(value)
		default:
			o[field] = redact(value)
		}
	}
	return o
}

// redactVariables removes the values of environment variables, in the form that containers have them.
func redactVariables(value any) any {
	variables, isList := value.([]any)
	if !isList {
		return redact(value)
	}
	for _, v := range variables {
		if v, isObject := v.(map[string]any); isObject && v["value"] != nil {
			v["value"] = redacted
		}
	}
	return variables
}

// redactManifest redacts an object that is the JSON of a field, as in the steps of an InstallPlan.
func redactManifest(value any) any {
	text, isText := value.(string)
	var o map[string]any
	if !isText || json.Unmarshal([]byte(text), &o) != nil {
		return redact(value)
	}
	out, err := json.Marshal(redactObject(o))
	if err != nil {
		return redacted // what was JSON before is JSON
	}
	return string(out)
}

// secrets are the forms of credentials in text, with what replaces each.
var secrets = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`(?i)((?:password|passwd|token|secret|api[-_]?key|authorization)["']?(?:=|: ?)["']?(?:bearer |basic )?)[^\s"',;}&]+`), "${1}" + redacted},
	{regexp.MustCompile(`://[^/\s:@]+:[^/\s@]+@`), "://" + redacted + "@"},
	{regexp.MustCompile(`\beyJ[\w-]{10,}\.[\w-]+\.[\w-]*`), redacted}, // JSON web tokens
}

// secretField matches the names of fields with a secret. The names of Secrets are none.
var secretField = regexp.MustCompile(`(?i)(password|passwd|token|api_?key|access_?key)$`)

// RedactText removes credentials from a text, such as a line of a log.
func RedactText(text string) string {
	for _, s := range secrets {
		text = s.pattern.ReplaceAllString(text, s.with)
	}
	return text
}
