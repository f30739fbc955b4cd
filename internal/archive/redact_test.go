package archive

import (
	"encoding/json"
	"strings"
	"testing"

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
	for text, want := range map[string]string{
		"nothing to hide":                          "nothing to hide",
		"Authorization: Bearer hunter2":            "Authorization: Bearer REDACTED",
		`{"token":"hunter2","name":"foo"}`:         `{"token":"REDACTED","name":"foo"}`,
		"pulling https://me:hunter2@example.com/a": "pulling https://REDACTED@example.com/a",
		"password=hunter2&user=me":                 "password=REDACTED&user=me",
		"Secret default/foo is missing":            "Secret default/foo is missing",
	} {
		if got := RedactText(text); got != want {
			t.Errorf("RedactText(%q) = %q, want %q", text, got, want)
		}
	}
}

// TestRedactCompressed verifies that a compressed manifest is redacted, too, and stays one.
func TestRedactCompressed(t *testing.T) {
	manifest := func(text string) string { return redactManifest(zipped([]byte(text))).(string) }
	got, ok := unzipped(manifest(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"kept"},"data":{"a":"hunter2"}}`))
	if want := `{"apiVersion":"v1","data":{},"kind":"Secret","metadata":{"name":"kept"}}`; !ok || string(got) != want {
		t.Errorf("got %s; want %s", got, want)
	}
	if got := manifest("hunter2"); got != redacted {
		t.Errorf("a text that is not a compressed object was redacted to %s", got)
	}
}
