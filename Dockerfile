# The binary alone, on a small Debian:
#   docker build -t driftgraph .
#   docker run --rm -v "$PWD:/data" driftgraph fit measurements.csv --out run
FROM rust:1.95-slim-bookworm AS build
WORKDIR /source
COPY . .
RUN cargo build --release --locked --package driftgraph-cli

FROM debian:12-slim
LABEL org.opencontainers.image.title="driftgraph" \
      org.opencontainers.image.version="0.2.0" \
      org.opencontainers.image.licenses="MIT OR Apache-2.0"
COPY --from=build /source/target/release/driftgraph /usr/local/bin/driftgraph
COPY LICENSE-MIT LICENSE-APACHE /usr/share/doc/driftgraph/
RUN useradd --create-home --uid 1000 user
USER 1000
WORKDIR /data
ENTRYPOINT ["driftgraph"]
CMD ["--help"]
