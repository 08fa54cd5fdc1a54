# anyner serve on the light installation: no torch, both bundled models inside.
#   docker build -t anyner .
#   docker run --rm -p 8000:8000 -e ANYNER_KEY=... anyner
FROM python:3.12-slim

WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
RUN pip install --no-cache-dir --no-compile -c constraints.txt '.[serve]' && rm -rf /src \
    && useradd --create-home --uid 10001 anyner

USER anyner
WORKDIR /home/anyner
ENV HF_HUB_OFFLINE=1 PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/ready', timeout=2)"]
# On SIGTERM, accepted requests are finished, for up to 90 seconds: docker stop --time 100
STOPSIGNAL SIGTERM
ENTRYPOINT ["anyner", "serve", "--host", "0.0.0.0"]
