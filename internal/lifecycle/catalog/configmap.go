package catalog

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// configMapOrigin is a file-based catalog in a ConfigMap, each key a file, or one in the format that OLM had before. A
// ConfigMap that changes is another origin.
type configMapOrigin struct {
	quiet

	key    types.NamespacedName
	reader client.Reader
	puller puller
}

func (o *configMapOrigin) read(ctx context.Context, known *reading) (*reading, error) {
	cm, err := o.get(ctx)
	if err != nil {
		return known, err
	}
	content, err := o.content(cm)
	if err != nil {
		return known, fmt.Errorf("ConfigMap %s: %w", o.key, err)
	}
	return &reading{
		content: content,
		from:    "resourceVersion " + cm.ResourceVersion,
		configMap: &olm.ConfigMapResourceReference{
			Name: cm.Name, Namespace: cm.Namespace, UID: cm.UID, ResourceVersion: cm.ResourceVersion, LastUpdateTime: metav1.Now(),
		},
		texts:  o.texts,
		puller: o.puller,
	}, nil
}

func (o *configMapOrigin) get(ctx context.Context) (*corev1.ConfigMap, error) {
	cm := &corev1.ConfigMap{}
	if err := o.reader.Get(ctx, o.key, cm); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, failure(v1alpha1.ReasonConfigMapNotFound, "ConfigMap %s, which spec.configMap names, is not there", o.key)
		}
		return nil, failure(v1alpha1.ReasonUnreachable, "reading ConfigMap %s: %w", o.key, err)
	}
	return cm, nil
}

func (o *configMapOrigin) content(cm *corev1.ConfigMap) (*Content, error) {
	if isLegacy(cm) {
		l, err := parseLegacy(cm)
		if err != nil {
			return nil, err
		}
		return l.content(), nil
	}
	b := newBuilder(o.puller.limits)
	for name, data := range files(cm) {
		if err := b.readFile(name, bytes.NewReader(data)); err != nil {
			return nil, err
		}
	}
	return b.content()
}

// files are the keys of a ConfigMap and what they hold, in order.
func files(cm *corev1.ConfigMap) func(yield func(string, []byte) bool) {
	all := maps.Clone(cm.BinaryData)
	if all == nil {
		all = map[string][]byte{}
	}
	for name, text := range cm.Data {
		all[name] = []byte(text)
	}
	return func(yield func(string, []byte) bool) {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if !yield(name, all[name]) {
				return
			}
		}
	}
}

// texts reads the ConfigMap again, so that nobody has to keep the objects in it.
func (o *configMapOrigin) texts(ctx context.Context, b *Bundle) ([]text, error) {
	cm, err := o.get(ctx)
	if err != nil {
		return nil, err
	}
	if isLegacy(cm) {
		l, err := parseLegacy(cm)
		if err != nil {
			return nil, failure(v1alpha1.ReasonBundleInvalid, "ConfigMap %s: %w", o.key, err)
		}
		return l.texts(b)
	}
	for name, data := range files(cm) {
		texts, found, err := inlinedTexts(bytes.NewReader(data), b)
		if found && err != nil {
			return nil, failure(v1alpha1.ReasonBundleInvalid, "ConfigMap %s, key %s: %w", o.key, name, err)
		}
		if found {
			return texts, nil
		}
	}
	return nil, notOffered(b)
}
