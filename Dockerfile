# The manager, as a static binary, in an image that holds nothing else but the certificates of public registries, and runs it as nobody.
# To pin the builder: --build-arg GO_IMAGE=golang:1.26@sha256:…
ARG GO_IMAGE=golang:1.26
FROM ${GO_IMAGE} AS builder
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=0.1.0
WORKDIR /workspace
COPY go.mod go.sum ./
RUN go mod download
COPY api api
COPY cmd cmd
COPY internal internal
RUN CGO_ENABLED=0 GOOS=${TARGETOS:-linux} GOARCH=${TARGETARCH} go build -trimpath -ldflags="-s -w -X github.com/operator-status/operator-status/internal/manager.Version=${VERSION}" -o manager ./cmd/manager

FROM scratch
WORKDIR /
COPY --from=builder /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=builder /workspace/manager .
USER 65532:65532
ENTRYPOINT ["/manager"]
