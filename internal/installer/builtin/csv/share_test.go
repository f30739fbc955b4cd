package csv

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/internal/installer/builtin/install"
)

func TestShare(t *testing.T) {
	mine := csv("mine.v2", replaces("mine.v1"))
	r := reconciler(t, mine, csv("mine.v1"), csv("other.v1"), csv("going.v1", terminating))
	for name, tc := range map[string]struct {
		reason string
		owner  string
		uid    types.UID
		want   []string
		label  string
	}{
		"Other": {reason: "Another operator that runs as it keeps it.", owner: "other.v1", uid: "uid-other.v1", want: []string{"mine.v2", "other.v1"},
			label: "other.v1"},
		"Mine":     {reason: "One's own reference is there already.", owner: "mine.v2", uid: "uid-mine.v2", want: []string{"mine.v2"}, label: "mine.v2"},
		"Replaced": {reason: "The version that is being replaced hands it over.", owner: "mine.v1", uid: "uid-mine.v1", want: []string{"mine.v2"}, label: "mine.v2"},
		"Going":    {reason: "One that is being deleted needs it no more.", owner: "going.v1", uid: "uid-going.v1", want: []string{"mine.v2"}, label: "mine.v2"},
		"Gone":     {reason: "A reference to one that is gone is not kept alive.", owner: "gone.v1", uid: "uid-gone.v1", want: []string{"mine.v2"}, label: "mine.v2"},
		"Namesake": {reason: "Nor is one to what had the same name.", owner: "other.v1", uid: "earlier", want: []string{"mine.v2"}, label: "mine.v2"},
	} {
		t.Run(name, func(t *testing.T) {
			account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
				Labels: install.OwnerLabels(mine), OwnerReferences: []metav1.OwnerReference{install.OwnerReference(mine)},
			}}
			actual := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
				Labels:          map[string]string{install.LabelOwner: tc.owner},
				OwnerReferences: []metav1.OwnerReference{{Name: tc.owner, UID: tc.uid}},
			}}
			if err := r.mergeOwners(t.Context(), about(mine), account, actual); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range account.OwnerReferences {
				got = append(got, o.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || account.Labels[install.LabelOwner] != tc.label {
				t.Errorf("%s\nlabel %s, owners -want +got:\n%s", tc.reason, account.Labels[install.LabelOwner], diff)
			}
		})
	}
}
