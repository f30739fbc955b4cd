# The manager as a static binary, with the certificates of public registries, a user and /tmp, and nothing else. It contains the same
# files as the images that `make images` builds without a Docker daemon.
# To pin the builder: --build-arg GO_IMAGE=golang:1.26@sha256:…
ARG GO_IMAGE=golang:1.26
FROM ${GO_IMAGE} AS builder
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=0.1.0
WORKDIR /workspace
COPY hack/rootfs hack/rootfs
RUN cd hack/rootfs && go run ./write /rootfs
COPY go.mod go.sum ./
COPY api/go.mod api/go.sum api/
COPY pkg/probe/go.mod pkg/probe/go.sum pkg/probe/
RUN go mod download
COPY api api
COPY cmd cmd
COPY internal internal
RUN CGO_ENABLED=0 GOOS=${TARGETOS:-linux} GOARCH=${TARGETARCH} go build -trimpath -buildvcs=false -ldflags="-s -w -X github.com/operator-status/operator-status/internal/manager.Version=${VERSION}" -o /rootfs/ko-app/manager ./cmd/manager

FROM scratch
COPY --from=builder /rootfs/ /
USER 65532:65532
ENTRYPOINT ["/ko-app/manager"]
