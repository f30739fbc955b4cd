package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/spf13/cobra"
)

// registryName is the name of imageRegistry and of its port.
const registryName = "registry"

// imageRegistry is an image registry for the pods of the real node. It has the same address for tools on this machine,
// for containerd and in the images of pods, though containerd reaches it through the gateway.
var imageRegistry = component{
	name:   registryName,
	binary: self,
	ports:  []string{registryName},
	prepare: func(_ context.Context, c *cluster) error {
		for _, folder := range []string{"registry", "registry/blobs"} {
			if err := os.MkdirAll(c.dir.path(folder), 0o700); err != nil {
				return err
			}
		}
		return writeWhole(c.dir.path("registry", "address"), []byte(c.registry()+"\n"), 0o600)
	},
	args: func(c *cluster) []string { return []string{"registry", c.registry(), c.dir.path("registry", "blobs")} },
	ready: func(ctx context.Context, c *cluster) error {
		return c.get(ctx, "http://"+c.registry()+"/v2/")
	},
}

// registry returns the address of the image registry.
func (c *cluster) registry() string { return c.at(registryName) }

// registryCommand is the program of imageRegistry. Users do not call it.
func registryCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "registry ADDRESS FOLDER",
		Hidden: true,
		Args:   cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return serveImages(cmd.Context(), args[0], args[1])
		},
	}
}

// serveImages serves a registry until ctx is done. Layers are files in folder; manifests are only in memory.
func serveImages(ctx context.Context, at, folder string) error {
	listener, err := net.Listen("tcp4", at)
	if err != nil {
		return fmt.Errorf("serving images: %w", err)
	}
	server := &http.Server{
		Handler: registry.New(
			registry.WithBlobHandler(registry.NewDiskBlobHandler(folder)),
			registry.Logger(log.New(io.Discard, "", 0)),
		),
		ReadHeaderTimeout: time.Minute,
	}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving images: %w", err)
	}
	return nil
}
