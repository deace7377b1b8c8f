# The service with both runtimes. Build: docker build -t kgrid-activator .
# Run, with nothing writable but the shelf and /tmp:
#   docker run --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges \
#     -p 8080:8080 -v kgrid-shelf:/shelf -e KGRID_USER=ann -e KGRID_PASSWORD=… kgrid-activator
FROM node:24-bookworm-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# No package needs an install script.
RUN npm ci --omit=dev --ignore-scripts

FROM node:24-bookworm-slim
# Python for its runtime; tini passes signals on and buries what the sandboxes leave.
RUN apt-get update \
  && apt-get install -y --no-install-recommends python3 python3-pip python3-venv tini \
  && rm -rf /var/lib/apt/lists/* \
  && groupadd --gid 10001 kgrid \
  && useradd --uid 10001 --gid kgrid --no-create-home --home-dir /shelf --shell /usr/sbin/nologin kgrid \
  && install -d -o kgrid -g kgrid /shelf
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY package.json ./
COPY src src
COPY cli cli
COPY runtimes runtimes
COPY openapi openapi
ENV KGRID_HOST=0.0.0.0 \
    KGRID_SHELF=/shelf \
    KGRID_LOG_FORMAT=json
USER kgrid
VOLUME /shelf
EXPOSE 8080
# Liveness: a service that is still loading a large shelf is not sick.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.KGRID_PORT || 8080) + '/actuator/health/liveness').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["tini", "--", "src/start.sh"]
