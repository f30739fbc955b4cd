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
			"Passwords are passed in the environment.",
			`{"kind":"Deployment","spec":{"containers":[{"env":[{"name":"kept","value":"hunter2"},{"name":"kept","valueFrom":{"secretKeyRef":{"name":"kept"}}}]}]}}`,
		},
		"SubscriptionConfig": {
			"So are those of Subscriptions.",
			`{"kind":"Subscription","spec":{"name":"kept","config":{"env":[{"name":"kept","value":"hunter2"}]}}}`,
		},
		"Arguments": {
			"Arguments may have credentials.",
			`{"kind":"Deployment","spec":{"args":["--kept=kept","--password=hunter2","--token=hunter2","https://kept:hunter2@kept.example.com"]}}`,
		},
		"EmbeddedSecret": {
			"A PlatformOperator may compose a Secret.",
			`{"kind":"PlatformOperator","spec":{"resources":[{"apiVersion":"v1","kind":"Secret","metadata":{"name":"kept"},"stringData":{"a":"hunter2"},"data":{"b":"hunter2"}}]}}`,
		},
		"Manifest": {
			"A step of an InstallPlan has its object as text.",
			`{"kind":"InstallPlan","status":{"plan":[
				{"resource":{"name":"kept","manifest":"{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"kept\"},\"data\":{\"a\":\"hunter2\"}}"}},
				{"resource":{"manifest":"{\"kind\":\"Deployment\",\"metadata\":{\"name\":\"kept\"},\"spec\":{\"env\":[{\"name\":\"a\",\"value\":\"hunter2\"}]}}"}}]}}`,
		},
		"TwoArguments": {
			"A flag and its value may be two arguments.",
			`{"kind":"Deployment","spec":{"args":["--kept","kept","--auth-token","hunter2","-password","hunter2","kept"]}}`,
		},
		"EscapedJSON": {
			"A field may be JSON in text, in text.",
			`{"kind":"ConfigMap","data":{"kept":"{\"kept\":1,\"password\":\"hunter2\",\"more\":\"{\\\"token\\\":\\\"hunter2\\\"}\"}"}}`,
		},
		"PrivateKey": {
			"Keys have a form of their own.",
			`{"kind":"ConfigMap","data":{"kept":"-----BEGIN RSA PRIVATE KEY-----\nhunter2\nhunter2\n-----END RSA PRIVATE KEY-----\nkept"}}`,
		},
		"CutKey": {
			"Though they may be cut off.", `{"kind":"ConfigMap","data":{"kept":"-----BEGIN PRIVATE KEY-----\nhunter2"}}`,
		},
		"MoreFields": {
			"Secrets have many names, and the names of Secrets are none.",
			`{"kind":"PlatformOperator","spec":{"clientSecret":"hunter2","passphrase":"hunter2","privateKey":"hunter2","imagePullSecret":"kept","secretName":"kept"}}`,
		},
		"Fields": {
			"A custom resource that is composed may have a password as a field.",
			`{"kind":"PlatformOperator","spec":{"resources":[{"kind":"Database","metadata":{"name":"kept"},"spec":{"adminPassword":"hunter2","apiKey":"hunter2"}}]}}`,
		},
		"LastApplied": {
			"kubectl keeps everything once more as text.",
			`{"kind":"Subscription","metadata":{"name":"kept","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"value\":\"hunter2\"}"}}}`,
		},
		"WebToken": {
			"Tokens of service accounts have a form of their own.",
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
				t.Errorf("%s\nit still has what is secret: %s", tc.reason, text)
			}
			if want, got := strings.Count(tc.object, "kept"), strings.Count(string(text), "kept"); got != want && name != "Arguments" {
				t.Errorf("%s\nit has %d of %d things that are kept: %s", tc.reason, got, want, text)
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
			t.Errorf("%q becomes %q, want %q", text, got, want)
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
		t.Errorf("what is no object is %s", got)
	}
}
