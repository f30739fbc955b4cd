package archive

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/builder"
)

// TestRedact verifies that secrets ("hunter2") are removed from objects, and that the values that a reader needs ("kept")
// are not.
func TestRedact(t *testing.T) {
	cases := map[string]struct {
		reason string
		object string
	}{
		"Environment": {
			"Values of environment variables are removed.",
			`{"kind":"Deployment","spec":{"containers":[{"env":[{"name":"kept","value":"hunter2"},{"name":"kept","valueFrom":{"secretKeyRef":{"name":"kept"}}}]}]}}`,
		},
		"ManagedFields": {
			"Names of fields may be keys of a Secret; when an object was changed is read.",
			`{"kind":"Deployment","metadata":{"managedFields":[{"manager":"kept","time":"2026-11-30T00:00:00Z","fieldsV1":{"f:hunter2":{}}}]}}`,
		},
		"SubscriptionConfig": {
			"Values of environment variables in the config of a Subscription are removed.",
			`{"kind":"Subscription","spec":{"name":"kept","config":{"env":[{"name":"kept","value":"hunter2"}]}}}`,
		},
		"Arguments": {
			"Passwords, tokens and URL credentials in arguments are removed.",
			`{"kind":"Deployment","spec":{"args":["--kept=kept","--password=hunter2","--token=hunter2","https://kept:hunter2@kept.example.com"]}}`,
		},
		"EmbeddedSecret": {
			"The data of a Secret that a PlatformOperator composes is removed.",
			`{"kind":"PlatformOperator","spec":{"resources":[{"apiVersion":"v1","kind":"Secret","metadata":{"name":"kept"},"stringData":{"a":"hunter2"},"data":{"b":"hunter2"}}]}}`,
		},
		"Manifest": {
			"Secrets are removed from the manifests of an InstallPlan's steps.",
			`{"kind":"InstallPlan","status":{"plan":[
				{"resource":{"name":"kept","manifest":"{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"kept\"},\"data\":{\"a\":\"hunter2\"}}"}},
				{"resource":{"manifest":"{\"kind\":\"Deployment\",\"metadata\":{\"name\":\"kept\"},\"spec\":{\"env\":[{\"name\":\"a\",\"value\":\"hunter2\"}]}}"}}]}}`,
		},
		"TwoArguments": {
			"The value of a secret flag is removed if it is an argument of its own.",
			`{"kind":"Deployment","spec":{"args":["--kept","kept","--auth-token","hunter2","-password","hunter2","kept"]}}`,
		},
		"EscapedJSON": {
			"Secrets are removed from JSON that is nested in JSON text.",
			`{"kind":"ConfigMap","data":{"kept":"{\"kept\":1,\"password\":\"hunter2\",\"more\":\"{\\\"token\\\":\\\"hunter2\\\"}\"}"}}`,
		},
		"PrivateKey": {
			"A private key in PEM format is removed.",
			`{"kind":"ConfigMap","data":{"kept":"-----BEGIN RSA PRIVATE KEY-----\nhunter2\nhunter2\n-----END RSA PRIVATE KEY-----\nkept"}}`,
		},
		"CutKey": {
			"A private key in PEM format is removed if its end is cut off.", `{"kind":"ConfigMap","data":{"kept":"-----BEGIN PRIVATE KEY-----\nhunter2"}}`,
		},
		"MoreFields": {
			"Fields with the usual names for secrets are removed, and names of Secret objects are kept.",
			`{"kind":"PlatformOperator","spec":{"clientSecret":"hunter2","passphrase":"hunter2","privateKey":"hunter2","imagePullSecret":"kept","secretName":"kept"}}`,
		},
		"Fields": {
			"Secret fields of a composed custom resource are removed.",
			`{"kind":"PlatformOperator","spec":{"resources":[{"kind":"Database","metadata":{"name":"kept"},"spec":{"adminPassword":"hunter2","apiKey":"hunter2"}}]}}`,
		},
		"Headers": {
			"The values of HTTP headers of a probe are removed if their names are those of secrets.",
			`{"kind":"Deployment","spec":{"livenessProbe":{"httpGet":{"httpHeaders":[
				{"name":"Authorization","value":"Basic hunter2"},{"name":"X-API-Key","value":"hunter2"},{"name":"kept","value":"kept"}]}}}}`,
		},
		"LastApplied": {
			"Values are removed from the annotation in which kubectl keeps the applied object.",
			`{"kind":"Subscription","metadata":{"name":"kept","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"value\":\"hunter2\"}"}}}`,
		},
		"WebToken": {
			"Tokens of service accounts are removed from text.",
			`{"kind":"Event","message":"kept eyJhbGciOiJSUzI1NiIsImtpZCI6hunter2.eyJhdWQiOlsiaHR0cHM6hunter2.c2lnbmF0dXJlhunter2"}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := builder.FromJSON(tc.object)
			Redact(o)
			text, err := json.Marshal(o.Object)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), "hunter2") {
				t.Errorf("%s\na secret is left: %s", tc.reason, text)
			}
			if want, got := strings.Count(tc.object, "kept"), strings.Count(string(text), "kept"); got != want && name != "Arguments" {
				t.Errorf("%s\n%d of %d other values are left: %s", tc.reason, got, want, text)
			}
		})
	}
}

func TestRedactText(t *testing.T) {
	for _, tc := range []struct{ reason, text, want string }{
		{"A text without credentials is kept.", "nothing to hide", "nothing to hide"},
		{"The name of a Secret is kept.", "Secret default/foo is missing", "Secret default/foo is missing"},
		{"A value ends with the parameter of a URL.", "password=hunter2&user=me", "password=REDACTED&user=me"},
		{"The scheme of a token is kept.", "token: Bearer hunter2", "token: Bearer REDACTED"},
		{"A value may be in JSON.", `{"token":"hunter2","name":"foo"}`, `{"token":"REDACTED","name":"foo"}`},
		{"A value in quotes may have commas and spaces.", `{"password":"a,b c","name":"foo"}`, `{"password":"REDACTED","name":"foo"}`},
		{"It may have quotes.", `{"password":"a\"b, c","name":"foo"}`, `{"password":"REDACTED","name":"foo"}`},
		{"Its quotes may be single.", `--password='a, "b' --name=foo`, `--password='REDACTED' --name=foo`},
		{"Its quotes may be escaped.", `{"a":"{\"password\":\"a,b c\",\"name\":\"foo\"}"}`, `{"a":"{\"password\":\"REDACTED\",\"name\":\"foo\"}"}`},
		{"An empty value is kept.", `{"password":"","name":"foo"}`, `{"password":"","name":"foo"}`},
		{"A private key may have a name.", "privateKey=-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----", "privateKey=REDACTED"},

		{"A header ends with its line.", "Authorization: Bearer hunter2\nHost: foo", "Authorization: REDACTED\nHost: foo"},
		{"A header may have any scheme.", "Authorization: token hunter2", "Authorization: REDACTED"},
		{"A header ends with its quotes.", `curl -H "Authorization: token hunter2" foo`, `curl -H "Authorization: REDACTED" foo`},
		{"A header may be in JSON.", `{"Authorization":"Basic hunter2","name":"foo"}`, `{"Authorization":"REDACTED","name":"foo"}`},
		{"A line may end within JSON.", `{"log":"Authorization: Basic hunter2\nHost: foo"}`, `{"log":"Authorization: REDACTED\nHost: foo"}`},
		{"Go prints headers as lists.", "map[Accept:[foo] Authorization:[Bearer sha256~hunter2]]", "map[Accept:[foo] Authorization:[REDACTED]]"},
		{"Go prints a header without a list.", "map[authorization:Bearer hunter2] foo", "map[authorization:REDACTED] foo"},
		{"A flag that only begins like a header is kept.", "--authorization-mode=RBAC", "--authorization-mode=RBAC"},

		{"A URL may have a name and a password.", "pulling https://me:hunter2@example.com/a", "pulling https://REDACTED@example.com/a"},
		{"A URL may have a password only.", "redis://:hunter2@redis:6379", "redis://REDACTED@redis:6379"},
		{"A URL may have a token for a name.", "https://hunter2@github.com/a", "https://REDACTED@github.com/a"},
		{"A password in a URL may have an @.", "https://me:hunter@2@example.com/a", "https://REDACTED@example.com/a"},
		{"Each URL of a list may have a password.", "redis://:hunter2@a:6379,redis://:hunter2@b:6379", "redis://REDACTED@a:6379,redis://REDACTED@b:6379"},
		{"A digest of an image is kept.", "quay.io/a/b@sha256:0123", "quay.io/a/b@sha256:0123"},
		{"A digest of an image with a scheme is kept.", "docker-pullable://quay.io/a/b@sha256:0123", "docker-pullable://quay.io/a/b@sha256:0123"},
		{"A port, and an @ in a path, are kept.", "https://example.com:8443/a@b", "https://example.com:8443/a@b"},
		{"A mail address is kept.", "mail me@example.com, see https://example.com", "mail me@example.com, see https://example.com"},
		{"A mail address after a URL is kept.", `{"url":"https://example.com","mail":"me@example.com"}`, `{"url":"https://example.com","mail":"me@example.com"}`},
	} {
		if got := RedactText(tc.text); got != tc.want {
			t.Errorf("%s\nRedactText(%q) = %q, want %q", tc.reason, tc.text, got, tc.want)
		}
	}
}

// TestRedactCompressed verifies that the manifest of an InstallPlan is redacted, and stays compressed if it was.
func TestRedactCompressed(t *testing.T) {
	const (
		secret = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"kept"},"data":{"a":"hunter2"}}`
		clean  = `{"apiVersion":"v1","data":{},"kind":"Secret","metadata":{"name":"kept"}}`
	)
	compressed := func(text string) string { return v1alpha1.PlanManifestCompressed + zipped([]byte(text)) }
	cases := map[string]struct{ reason, manifest, want string }{
		"Compressed": {"The built-in loops compress long manifests.", compressed(secret), compressed(clean)},
		"JSON":       {"OLM writes JSON.", secret, clean},
		"YAML":       {"An object may be in YAML.", "apiVersion: v1\nkind: Secret\nmetadata: {name: kept}\ndata: {a: hunter2}\n", clean},
		"NoObject":   {"A compressed text that is not an object is removed.", compressed("hunter2"), redacted},
		"NoGzip":     {"A text that only begins like a compressed one is removed.", v1alpha1.PlanManifestCompressed + "hunter2", redacted},
		"NoPrefix":   {"A text in another encoding is removed.", zipped([]byte(secret)), redacted},
		"Text":       {"Any other text is removed.", "hunter2", redacted},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := redactManifest(tc.manifest); got != tc.want {
				t.Errorf("%s\ngot %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}
