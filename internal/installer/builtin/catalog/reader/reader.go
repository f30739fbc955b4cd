// Package reader reads catalogs and bundles in a confined process. All parsing of their untrusted content happens here,
// and none in the manager.
package reader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/installer/builtin/sandbox"
)

// Serve answers the requests of the parent process until the last one. It must be called before anything else.
func Serve() error {
	child, err := sandbox.Enter()
	if err != nil {
		return fmt.Errorf("dropping privileges: %w", err)
	}
	for {
		var request catalog.Request
		if err := child.Receive(&request); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("reading a request: %w", err)
		}
		last := catalog.Answer{Done: true}
		if err := answer(context.Background(), newSession(request, child.Dial, child.Scratch, child.Send, child.Receive)); err != nil {
			failed := catalog.AsError(err, "")
			last = catalog.Answer{Failure: &catalog.Failure{Reason: failed.Reason, Message: failed.Error()}}
		}
		if err := child.Send(last); err != nil {
			return fmt.Errorf("writing an answer: %w", err)
		}
	}
}

// session answers one request. To cancel it, the parent ends this process.
type session struct {
	catalog.Request

	dial    dialer
	puller  puller
	scratch *os.File
	send    func(any) error
	receive func(any) error
}

// dialer requests a connection from the parent.
type dialer func(context.Context, sandbox.Address) (net.Conn, error)

func newSession(request catalog.Request, dial dialer, scratch *os.File, send, receive func(any) error) *session {
	return &session{
		Request: request, dial: dial, scratch: scratch, send: send, receive: receive,
		puller: puller{
			secrets: pullSecrets{all: request.PullSecrets, problems: request.PullSecretProblems},
			limits:  request.Limits, requireDigests: request.RequireDigests, plaintext: request.Plaintext, transport: newTransport(dial),
		},
	}
}

// answer sends the requested content, except for the last answer.
func answer(ctx context.Context, s *session) error {
	if s.Bundle != nil {
		return s.bundle(ctx)
	}
	content, err := s.content(ctx)
	if err != nil || content == nil {
		return err
	}
	for a := range content.Answers {
		if err := s.send(a); err != nil {
			return err
		}
	}
	return nil
}

// content reads the catalog, or returns nil if the manager decides not to read its image.
func (s *session) content(ctx context.Context) (*catalog.Content, error) {
	switch {
	case s.Image != "":
		return s.image(ctx)
	case s.Address != "":
		return s.registry().content(ctx)
	default:
		return configMapContent(s.Files, s.Limits)
	}
}

// bundle sends the objects of a bundle.
func (s *session) bundle(ctx context.Context) error {
	texts, err := s.texts(ctx)
	if err != nil {
		return err
	}
	if len(texts) == 0 {
		return catalog.Errorf(reasonBundleInvalid, "it has neither objects nor an image")
	}
	objects, err := decodeBundle(texts, s.Limits)
	if err != nil {
		return err
	}
	for _, o := range objects {
		text, err := json.Marshal(o)
		if err != nil {
			return fmt.Errorf("writing %s %s as JSON: %w", o.GetKind(), o.GetName(), err)
		}
		if err := s.send(catalog.Answer{Object: text}); err != nil {
			return err
		}
	}
	return nil
}

// wanted resolves an image and sends its digest and signatures. It returns nil if the manager decides not to read the
// image.
func (s *session) wanted(ctx context.Context, image string) (*resolved, error) {
	r, err := s.puller.resolve(ctx, image)
	if err != nil {
		return nil, err
	}
	answer := catalog.Resolved{Digest: r.digest}
	if s.Signatures {
		if answer.Signatures, err = s.puller.signatures(ctx, r); err != nil {
			return nil, err
		}
	}
	if err := s.send(catalog.Answer{Resolved: &answer}); err != nil {
		return nil, err
	}
	var verdict catalog.Verdict
	if err := s.receive(&verdict); err != nil || !verdict.Read {
		return nil, err
	}
	return r, nil
}

// texts returns the undecoded objects of a bundle, or none if the manager decides not to read its image.
func (s *session) texts(ctx context.Context) ([]text, error) {
	switch {
	case !s.Bundle.Inlined:
		r, err := s.wanted(ctx, s.Bundle.Image)
		if err != nil || r == nil {
			return nil, err
		}
		return s.puller.bundleImage(ctx, r)
	case s.Bundle.Kept > 0:
		out, _, err := inlinedTexts(io.NewSectionReader(s.scratch, 0, s.Bundle.Kept), s.Bundle)
		return out, err
	case s.Address != "":
		return s.registry().texts(ctx, s.Bundle)
	case s.Files != nil:
		return configMapTexts(s.Files, s.Bundle)
	}
	return nil, nil
}
