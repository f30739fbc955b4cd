// Package record stores records as Secrets in the manager's namespace, where users who can write InstallPlans and CSVs
// cannot change them: the content of an InstallPlan that is being applied, and the grant of a CSV that an InstallPlan
// installed.
package record

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/installer/builtin/install"
)

// FieldOwner is the field manager of records.
const FieldOwner = client.FieldOwner("operator-status-records")

const (
	// labelKind on a Secret is the kind of its record.
	labelKind = "operatorstatus.io/record"

	kindContent = "content"
	kindGrant   = "grant"

	// annotationOf names the object that a record is about, for users and GrantOf.
	annotationOf = "operatorstatus.io/of"

	// key is the key of a record, as gzipped JSON, in its Secret.
	key = "record.json.gz"

	// maxRecord limits the size of a decompressed record, in bytes.
	maxRecord = 32 << 20
)

// Store stores records as Secrets.
type Store struct {
	// Client reads from the cache, which holds grants but not contents.
	Client client.Client

	// Live reads from the API server.
	Live client.Reader

	// Namespace is the manager's namespace.
	Namespace string
}

func (s *Store) secret(kind string, of types.NamespacedName, name string) *corev1.Secret {
	out := &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace, Name: name,
			Labels:      map[string]string{labelKind: kind},
			Annotations: map[string]string{annotationOf: of.String()},
		},
	}
	if kind == kindGrant {
		out.Labels[install.LabelManaged] = "true" // selects it into the cache
	}
	return out
}

// write creates a record or overwrites the existing one.
func (s *Store) write(ctx context.Context, secret *corev1.Secret, value any) error {
	packed, err := pack(value)
	if err != nil {
		return err
	}
	secret.Data = map[string][]byte{key: packed}
	if err = s.Client.Create(ctx, secret, FieldOwner); err == nil {
		return nil
	}
	if client.IgnoreAlreadyExists(err) != nil {
		return fmt.Errorf("creating Secret %s: %w", client.ObjectKeyFromObject(secret), err)
	}
	secret.ResourceVersion = ""
	if err := s.Client.Update(ctx, secret, FieldOwner); err != nil {
		return fmt.Errorf("updating Secret %s: %w", client.ObjectKeyFromObject(secret), err)
	}
	return nil
}

// read reads a record and reports whether it exists.
func (s *Store) read(ctx context.Context, from client.Reader, name string, into any) (bool, error) {
	secret := &corev1.Secret{}
	if err := from.Get(ctx, types.NamespacedName{Namespace: s.Namespace, Name: name}, secret); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return true, unpack(secret.Data[key], into)
}

func (s *Store) drop(ctx context.Context, name string) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}}
	if err := s.Client.Delete(ctx, secret); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting Secret %s: %w", client.ObjectKeyFromObject(secret), err)
	}
	return nil
}

func pack(value any) ([]byte, error) {
	var buffer bytes.Buffer
	zip := gzip.NewWriter(&buffer)
	if err := json.NewEncoder(zip).Encode(value); err != nil {
		return nil, err
	}
	if err := zip.Close(); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}

func unpack(packed []byte, into any) error {
	zip, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(zip, maxRecord))
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
