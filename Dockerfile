# The service with the engines node and python, and the commands `kgrid`. Build: docker build -t kgrid-activator .
# Run, with nothing writable but the shelf and /tmp:
#   docker run --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges \
#     -p 8080:8080 -v kgrid-shelf:/shelf -e KGRID_USER=ann -e KGRID_PASSWORD=… kgrid-activator
# The base: Debian or a system made of it, with Node 24 or newer and its npm.
ARG BASE=node:24-bookworm-slim

FROM ${BASE} AS packages
# Certificates, as PEM, of an authority that a proxy or a registry of packages is signed by.
ARG CA_CERTIFICATES=""
ARG NPM_CONFIG_REGISTRY
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# No package needs an install script. The Node of the base is enough: the one that npm brings goes.
RUN printf '%s\n' "$CA_CERTIFICATES" > /tmp/authorities.crt \
  && if [ -n "$CA_CERTIFICATES" ]; then export NODE_EXTRA_CA_CERTS=/tmp/authorities.crt; fi \
  && npm ci --omit=dev --ignore-scripts \
  && rm -rf node_modules/node-linux-* node_modules/.bin/node

FROM ${BASE}
ARG CA_CERTIFICATES=""
# Python for its engine; tini passes signals on and buries what the sandboxes leave. Any user of the group 0 can
# write to the shelf: some platforms choose the user.
RUN apt-get update \
  && apt-get install -y --no-install-recommends ca-certificates python3 python3-pip python3-venv tini \
  && rm -rf /var/lib/apt/lists/* \
  && if [ -n "$CA_CERTIFICATES" ]; then \
    printf '%s\n' "$CA_CERTIFICATES" > /usr/local/share/ca-certificates/kgrid-build.crt && update-ca-certificates; \
  fi \
  && groupadd --gid 10001 kgrid \
  && useradd --uid 10001 --gid kgrid --no-create-home --home-dir /shelf --shell /usr/sbin/nologin kgrid \
  && install -d -o kgrid -g root -m 0775 /shelf \
  && ln -s /app/cli/kgrid.js /usr/local/bin/kgrid
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY package.json LICENSE ./
COPY src src
COPY cli cli
COPY runtimes runtimes
COPY openapi openapi
COPY templates templates
# Of what is built, for `kgrid --version`, health and metrics.
ARG KGRID_BUILD_COMMIT=""
LABEL org.opencontainers.image.title="KGrid Activator" \
  org.opencontainers.image.description="Serves computable biomedical knowledge objects as REST endpoints" \
  org.opencontainers.image.version="0.2.0" \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.revision="${KGRID_BUILD_COMMIT}"
# Any user finds a folder of its own there, for what `kgrid` and the engines keep.
ENV HOME=/shelf \
    KGRID_HOST=0.0.0.0 \
    KGRID_SHELF=/shelf \
    KGRID_LOG_FORMAT=json \
    KGRID_BUILD_COMMIT="${KGRID_BUILD_COMMIT}" \
    NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt
# By number, so that Kubernetes sees that it is not root.
USER 10001
VOLUME /shelf
EXPOSE 8080
# Liveness: a service that is still loading a large shelf is not sick.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.KGRID_PORT || 8080) + '/actuator/health/liveness').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["tini", "--", "src/start.sh"]
