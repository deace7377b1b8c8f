# The image with systemd in it, which starts the unit of the folder deploy. No containers have credentials of systemd: the
# password is in a file here. What comes before the service shows that builds of packages get their namespaces.
FROM localhost/kgrid-activator
USER 0
ARG PORT
RUN apt-get update \
  && apt-get install -y --no-install-recommends systemd systemd-sysv \
  && rm -rf /var/lib/apt/lists/* \
  && ln -s /app /opt/kgrid-activator \
  && install -d -o kgrid /var/lib/kgrid \
  && printf '%s\n' KGRID_SHELF=/var/lib/kgrid/shelf KGRID_USER=ann KGRID_PORT=$PORT KGRID_HOST=127.0.0.1 \
    NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt > /etc/kgrid-activator.env \
  && echo 'a long one' > /etc/kgrid-activator.password \
  && chown kgrid /etc/kgrid-activator.password && chmod 600 /etc/kgrid-activator.password \
  && mkdir /etc/systemd/system/kgrid-activator.service.d \
  && printf '%s\n' '[Service]' LoadCredential= Environment=KGRID_PASSWORD_FILE=/etc/kgrid-activator.password \
    'ExecStartPre=/usr/bin/unshare --user --net --pid --fork true' \
    > /etc/systemd/system/kgrid-activator.service.d/password.conf
COPY kgrid-activator.service /etc/systemd/system/
RUN systemctl enable kgrid-activator
ENTRYPOINT ["/lib/systemd/systemd"]
