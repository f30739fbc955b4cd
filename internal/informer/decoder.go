package informer

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// undecodable is an object that could not be decoded: its metadata, and the error.
type undecodable struct {
	metav1.PartialObjectMetadata
	why error
}

// oneByOne decodes the objects of a watch with decoder.
type oneByOne struct{ runtime.NegotiatedSerializer }

func (o oneByOne) DecoderToVersion(d runtime.Decoder, version runtime.GroupVersioner) runtime.Decoder {
	return decoder{o.NegotiatedSerializer.DecoderToVersion(d, version)}
}

// decoder decodes an object that does not fit its Go type as undecodable. It fails if the metadata cannot be decoded
// either, which the API server prevents.
type decoder struct{ runtime.Decoder }

func (d decoder) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	o, kind, why := d.try(data, defaults, into)
	if why == nil {
		return o, kind, nil
	}
	bad := &undecodable{why: why}
	if err := json.Unmarshal(data, &bad.PartialObjectMetadata); err != nil || bad.Name == "" {
		return nil, nil, why
	}
	found := bad.GroupVersionKind()
	return bad, &found, nil
}

// try decodes an object, and converts a panic in the code of its type to an error.
func (d decoder) try(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (o runtime.Object, kind *schema.GroupVersionKind, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("decoding panicked: %v", r)
		}
	}()
	return d.Decoder.Decode(data, defaults, into)
}
