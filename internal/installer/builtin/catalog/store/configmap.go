package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
)

// configMapOrigin is a catalog in a ConfigMap. When the ConfigMap changes, it is replaced by a new origin.
type configMapOrigin struct {
	quiet

	key    types.NamespacedName
	source types.NamespacedName // the CatalogSource
	reader client.Reader
	access access
	disk   *disk
}

func (o *configMapOrigin) read(ctx context.Context, known *reading) (*reading, error) {
	cm, err := o.get(ctx)
	if err != nil {
		return known, err
	}
	kept, stored, err := o.disk.keep(digestOf(cm), o.access.limits)
	if err != nil {
		return known, err
	}
	defer kept.close()
	if !stored {
		err = o.access.ask(ctx, catalog.Request{Files: files(cm)}, nil, func(_ *conversation, a catalog.Answer) error { return kept.add(a) })
	}
	var release func()
	if err == nil {
		release, err = kept.finish()
	}
	if err != nil {
		return known, fmt.Errorf("ConfigMap %s: %w", o.key, err)
	}
	return &reading{
		content: kept.content,
		stored:  o.disk.size(kept.digest),
		from:    "resourceVersion " + cm.ResourceVersion,
		configMap: &olm.ConfigMapResourceReference{
			Name: cm.Name, Namespace: cm.Namespace, UID: cm.UID, ResourceVersion: cm.ResourceVersion, LastUpdateTime: metav1.Now(),
		},
		access:   o.access,
		ask:      o.ask,
		accepted: func() error { return o.disk.remember(o.source, use{Digest: kept.digest}) },
		done:     release,
	}, nil
}

// digestOf returns a digest of the content of a ConfigMap.
func digestOf(cm *corev1.ConfigMap) string {
	hash := sha256.New()
	all := files(cm)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		_, _ = fmt.Fprintf(hash, "%d %s %d ", len(name), name, len(all[name])) // writing to a hash never fails
		_, _ = hash.Write(all[name])
	}
	return "sha256:" + hex.EncodeToString(hash.Sum(nil))
}

func (o *configMapOrigin) get(ctx context.Context) (*corev1.ConfigMap, error) {
	cm := &corev1.ConfigMap{}
	if err := o.reader.Get(ctx, o.key, cm); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, catalog.Errorf(v1alpha1.ReasonConfigMapNotFound, "ConfigMap %s of spec.configMap not found", o.key)
		}
		return nil, catalog.Errorf(v1alpha1.ReasonUnreachable, "reading ConfigMap %s: %w", o.key, err)
	}
	return cm, nil
}

// files returns the content of a ConfigMap by key.
func files(cm *corev1.ConfigMap) map[string][]byte {
	out := maps.Clone(cm.BinaryData)
	if out == nil {
		out = map[string][]byte{}
	}
	for name, text := range cm.Data {
		out[name] = []byte(text)
	}
	return out
}

// ask reads the ConfigMap again, since its objects are not kept.
func (o *configMapOrigin) ask(ctx context.Context, request *catalog.Request) (io.ReadCloser, error) {
	cm, err := o.get(ctx)
	if err != nil {
		return nil, err
	}
	request.Files = files(cm)
	return nil, nil
}
