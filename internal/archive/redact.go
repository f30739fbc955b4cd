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

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
)

// redacted replaces values that may be secret.
const redacted = "REDACTED"

// Redact removes values that may be secret from an object: those of environment variables and of Secrets that it embeds, and
// credentials in arguments. Of managed fields it keeps who changed the object when: that is how long a controller has not reacted.
func Redact(o *unstructured.Unstructured) {
	installer.DropFields(o)
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
	name, _ := o["name"].(string) // of the value beside it, as in an HTTP header
	for field, value := range o {
		_, isText := value.(string)
		switch {
		case isText && (secretField.MatchString(field) || field == "value" && secretField.MatchString(name)):
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

// redactManifest redacts an object that is the text of a field, as in the steps of an InstallPlan. It may be compressed.
func redactManifest(value any) any {
	text, isText := value.(string)
	if !isText {
		return redact(value)
	}
	if packed, isPacked := strings.CutPrefix(text, v1alpha1.PlanManifestCompressed); isPacked {
		if out, ok := redactEncoded(unzipped(packed)); ok {
			return v1alpha1.PlanManifestCompressed + zipped(out)
		}
		return redacted // its content is unknown
	}
	if out, ok := redactEncoded([]byte(text)); ok {
		return string(out)
	}
	return redacted // as above
}

// redactEncoded redacts an object in JSON or YAML, and returns it in JSON. It reports false for any other text.
func redactEncoded(text []byte) ([]byte, bool) {
	objects, err := objectsIn(text)
	if err != nil || len(objects) != 1 {
		return nil, false
	}
	var o map[string]any
	if json.Unmarshal(objects[0], &o) != nil || o == nil {
		return nil, false
	}
	out, err := json.Marshal(redactObject(o))
	return out, err == nil
}

// maxManifest limits a manifest that is decompressed, in bytes. An object of the API server is smaller.
const maxManifest = 16 << 20

// unzipped decodes a text in base64 that is compressed by gzip. It returns nil for any other text.
func unzipped(text string) []byte {
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(text)))
	if err != nil {
		return nil
	}
	out, err := io.ReadAll(io.LimitReader(z, maxManifest))
	if err != nil {
		return nil
	}
	return out
}

func zipped(text []byte) string {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(text) // a buffer takes everything
	_ = z.Close()        // as above
	return base64.StdEncoding.EncodeToString(out.Bytes())
}

// Parts of the patterns of credentials that have a name.
const (
	secretNames  = `password|passwd|passphrase|token|secret|(?:api|access|private)[-_]?key|credentials?`
	secretHeader = `authorization`
	assigned     = `\\*["']?(?:=|: ?)` // after the name, which may be in quotes
	secretNamed  = `(?i)((?:` + secretNames + `|` + secretHeader + `)` + assigned
)

// secrets are the forms of credentials in text, with the replacement of each.
var secrets = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`), redacted},
	// A value in quotes ends with these. They have backslashes if they are a part of another text in quotes.
	{regexp.MustCompile(secretNamed + `")(?:[^"\\\n]|\\.)+`), "${1}" + redacted},
	{regexp.MustCompile(secretNamed + `')[^'\n]+`), "${1}" + redacted},
	{regexp.MustCompile(secretNamed + `\\+")(?:[^"\\\n]|\\+[^"\\\n])+`), "${1}" + redacted},
	// A header has spaces. It ends with its list, or with the line or the text in quotes that it is in.
	{regexp.MustCompile(`(?i)(` + secretHeader + assigned + `\[)[^\]\n]+`), "${1}" + redacted},
	{regexp.MustCompile(`(?i)(` + secretHeader + assigned + `)[^\s"'\\\[\]][^"'\\\]\n]*`), "${1}" + redacted},
	{regexp.MustCompile(`(?i)((?:` + secretNames + `)` + assigned + `\\*["']?(?:bearer |basic )?)[^\s"'\\,;}&]+`), "${1}" + redacted},
	{regexp.MustCompile(`://[^/\s"']+@`), "://" + redacted + "@"},
	{regexp.MustCompile(`\beyJ[\w-]{10,}\.[\w-]+\.[\w-]*`), redacted}, // JSON web tokens
}

// secretField matches the names of fields and of HTTP headers with a secret. The names of Secrets are not secret.
var secretField = regexp.MustCompile(`(?i)(password|passwd|passphrase|token|(api|access|private)[-_]?key|client_?secret|credentials?|authorization)$`)

// secretFlag matches the flags whose value, in the next argument, is a secret.
var secretFlag = regexp.MustCompile(`(?i)^--?[\w-]*(password|passwd|passphrase|token|secret|key|credentials?)$`)

// RedactText removes credentials from a text, such as a line of a log.
func RedactText(text string) string {
	for _, s := range secrets {
		text = s.pattern.ReplaceAllString(text, s.with)
	}
	return text
}
