# JupyterLab with the Go kernel, ready to open:
#
#   docker build -t gorovod .
#   docker run --rm -p 127.0.0.1:8888:8888 gorovod
#
# and follow the link with the token that it prints. Your own notebooks: add -v "$PWD":/home/gopher/work

FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=unreleased
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /out/gorovod ./cmd/gorovod

FROM python:3.12-slim-bookworm
COPY requirements.txt constraints.txt /tmp/
# The tests' packages stay out: only JupyterLab is needed to open a notebook.
RUN grep '^jupyterlab==' /tmp/requirements.txt > /tmp/jupyterlab.txt \
    && pip install --no-cache-dir --disable-pip-version-check -r /tmp/jupyterlab.txt -c /tmp/constraints.txt \
    && rm /tmp/*.txt
COPY --from=build /out/gorovod /usr/local/bin/gorovod
RUN gorovod install --prefix /usr/local
# The quickstart counts in this text. The kernel itself needs no Go.
COPY --from=build /usr/local/go/src /usr/local/go/src

RUN useradd --create-home gopher
USER gopher
WORKDIR /home/gopher
COPY --chown=gopher notebooks notebooks
EXPOSE 8888
CMD ["jupyter", "lab", "--ip=0.0.0.0", "--port=8888", "--no-browser"]
