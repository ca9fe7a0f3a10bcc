# Our own tools, static, on nothing: the load generator that runs inside a cluster, and
# the emulated components where they stand in for the real ones.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o /out/ ./cmd/bg-deploy ./cmd/bg-load ./cmd/bg-scrape

FROM scratch
COPY --from=build /out/ /
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
ENV PATH=/
USER 65532:65532
ENTRYPOINT ["/bg-deploy"]
