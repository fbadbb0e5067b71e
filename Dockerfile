# Handoff on one machine, in a container. In the root of a checkout:
#
#   docker build -t handoff .
#
# The image holds no secrets: tokens of bots go into the file `settings` on the volume (docs/one-machine.md).

FROM python:3.13-slim AS build
WORKDIR /source
COPY requirements-dev.txt ./
# The builder in its locked version; without isolation, so that no other is downloaded.
RUN grep -oE '^(hatchling|packaging|pathspec|pluggy|trove-classifiers)==[^ ]+' requirements-dev.txt > builder.txt \
    && pip install --no-cache-dir --no-deps -r builder.txt
COPY pyproject.toml README.md LICENSE requirements.txt ./
COPY cli cli
COPY shared shared
COPY functions functions
COPY local local
RUN pip wheel --no-deps --no-build-isolation --wheel-dir /wheels .

FROM python:3.13-slim
COPY requirements-server.txt /tmp/requirements.txt
RUN pip install --no-cache-dir --no-deps --require-hashes -r /tmp/requirements.txt && rm /tmp/requirements.txt
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --no-deps /wheels/*.whl && rm -r /wheels \
    && useradd --uid 10001 --home-dir /data --no-create-home --shell /usr/sbin/nologin handoff \
    && install -d -o handoff -g handoff -m 700 /data
USER 10001
ENV HOME=/data XDG_DATA_HOME=/data PYTHONUNBUFFERED=1
WORKDIR /data
VOLUME /data
EXPOSE 8787
# The first start makes the database; a later one takes up what was under way.
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8787/health', timeout=3)"]
ENTRYPOINT ["handoff"]
# Only this network namespace can connect: see compose.yaml (the host's) and compose.public.yaml (behind a proxy with TLS).
CMD ["up", "--listen", "127.0.0.1:8787"]
