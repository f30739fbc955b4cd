package archive

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// redacted replaces values that may be secret.
const redacted = "REDACTED"

// Redact removes values that may be secret from an object: those of environment variables and of Secrets that it embeds, and
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
		before := ""
		for i := range value {
			if secretFlag.MatchString(before) { // --token and its value are two arguments
				value[i] = redacted
			} else {
				value[i] = redact(value[i])
			}
			before, _ = value[i].(string)
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

// redactManifest redacts an object that is the JSON of a field, as in the steps of an InstallPlan. It may be compressed.
func redactManifest(value any) any {
	text, isText := value.(string)
	if !isText {
		return redact(value)
	}
	if content, ok := unzipped(text); ok {
		out, ok := redactJSON(content)
		if !ok {
			return redacted // its content is unknown
		}
		return zipped(out)
	}
	if out, ok := redactJSON([]byte(text)); ok {
		return string(out)
	}
	return redact(value)
}

// redactJSON redacts an object in JSON. It reports false for any other text.
func redactJSON(text []byte) ([]byte, bool) {
	var o map[string]any
	if json.Unmarshal(text, &o) != nil {
		return nil, false
	}
	out, err := json.Marshal(redactObject(o))
	return out, err == nil
}

// maxManifest limits a manifest that is decompressed, in bytes. An object of the API server is smaller.
const maxManifest = 16 << 20

// unzipped decodes a text in base64 that is compressed by gzip. It reports false for any other text.
func unzipped(text string) ([]byte, bool) {
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(text)))
	if err != nil {
		return nil, false
	}
	out, err := io.ReadAll(io.LimitReader(z, maxManifest))
	return out, err == nil
}

func zipped(text []byte) string {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(text) // a buffer takes everything
	_ = z.Close()        // as above
	return base64.StdEncoding.EncodeToString(out.Bytes())
}

// secrets are the forms of credentials in text, with the replacement of each.
var secrets = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`(?i)((?:password|passwd|passphrase|token|secret|(?:api|access|private)[-_]?key|credentials?|authorization)\\*["']?(?:=|: ?)\\*["']?(?:bearer |basic )?)[^\s"'\\,;}&]+`), "${1}" + redacted},
	{regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`), redacted},
	{regexp.MustCompile(`://[^/\s:@]+:[^/\s@]+@`), "://" + redacted + "@"},
	{regexp.MustCompile(`\beyJ[\w-]{10,}\.[\w-]+\.[\w-]*`), redacted}, // JSON web tokens
}

// secretField matches the names of fields with a secret. The names of Secrets are not secret.
var secretField = regexp.MustCompile(`(?i)(password|passwd|passphrase|token|(api|access|private)_?key|client_?secret|credentials?)$`)

// secretFlag matches the flags whose value, in the next argument, is a secret.
var secretFlag = regexp.MustCompile(`(?i)^--?[\w-]*(password|passwd|passphrase|token|secret|key|credentials?)$`)

// RedactText removes credentials from a text, such as a line of a log.
func RedactText(text string) string {
	for _, s := range secrets {
		text = s.pattern.ReplaceAllString(text, s.with)
	}
	return text
}
