package paged

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// server serves objects two on a page, and decodes each page into the list as a client does.
type server struct {
	client.Reader
	labels  []map[string]string // of the objects
	expires int                 // number of lists whose second page has expired
}

func (s *server) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	o := (&client.ListOptions{}).ApplyOptions(options)
	start := 0
	if o.Continue != "" {
		if s.expires > 0 {
			s.expires--
			return apierrors.NewResourceExpired("the continue token is too old")
		}
		if _, err := fmt.Sscan(o.Continue, &start); err != nil {
			return err
		}
	}
	page := corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}
	end := min(start+2, len(s.labels))
	for i := start; i < end; i++ {
		page.Items = append(page.Items, corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("o%d", i), Labels: s.labels[i]}})
	}
	if end < len(s.labels) {
		page.Continue = fmt.Sprint(end)
	}
	text, err := json.Marshal(page)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, list)
}

// TestList verifies that all pages are joined, and that no object has anything of one on a page before.
func TestList(t *testing.T) {
	want := map[string]map[string]string{}
	var labels []map[string]string
	for i := range 7 {
		labels = append(labels, map[string]string{fmt.Sprintf("only-%d", i): "true"})
		want[fmt.Sprintf("o%d", i)] = labels[i]
	}
	for name, list := range map[string]client.ObjectList{"Typed": &corev1.ConfigMapList{}, "Metadata": &metav1.PartialObjectMetadataList{}} {
		t.Run(name, func(t *testing.T) {
			s := &server{labels: labels, expires: 1}
			if err := (Reader{s}).List(t.Context(), list); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, labelsOf(list)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if list.GetContinue() != "" || list.GetResourceVersion() != "7" {
				t.Errorf("continue %q, resourceVersion %q", list.GetContinue(), list.GetResourceVersion())
			}
		})
	}
}

func labelsOf(list client.ObjectList) map[string]map[string]string {
	out := map[string]map[string]string{}
	switch list := list.(type) {
	case *corev1.ConfigMapList:
		for _, o := range list.Items {
			out[o.Name] = maps.Clone(o.Labels)
		}
	case *metav1.PartialObjectMetadataList:
		for _, o := range list.Items {
			out[o.Name] = maps.Clone(o.Labels)
		}
	}
	return out
}

// TestLimited verifies that a list with a limit is one page, and that a list whose pages keep expiring is an error.
func TestLimited(t *testing.T) {
	s := &server{labels: make([]map[string]string, 7)}
	list := &corev1.ConfigMapList{}
	if err := (Reader{s}).List(t.Context(), list, client.Limit(2)); err != nil || len(list.Items) != 2 || list.Continue != "2" {
		t.Errorf("%d objects, continue %q: %v; want one page", len(list.Items), list.Continue, err)
	}
	s.expires = attempts
	if err := (Reader{s}).List(t.Context(), &corev1.ConfigMapList{}); !apierrors.IsResourceExpired(err) {
		t.Errorf("pages that keep expiring: %v", err)
	}
}
