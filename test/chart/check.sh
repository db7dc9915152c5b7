#!/bin/sh
# Lints the Helm chart, renders it for PostgreSQL and for SQLite, and decodes what it renders strictly with Kubernetes' own types.
# Needs Go; helm comes from the Go module proxy, unless HELM names one.
set -eu
chart=$(cd "$(dirname "$0")/../../docs/kubernetes" && pwd)
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
helm=${HELM:-}
if [ -z "$helm" ]; then
  GOBIN=$folder go install helm.sh/helm/v3/cmd/helm@v3.22.0
  helm=$folder/helm
fi
cp "$(dirname "$0")/decode.go" "$folder/main.go"
render() { "$helm" template relayer "$chart" --kube-version 1.33.0 "$@"; }

"$helm" lint --strict "$chart" --kube-version 1.33.0
render > "$folder/postgres.yaml"
render --set postgres=false,replicas=1,image.digest=sha256:00,settings.TRUSTED_PROXIES=10.0.0.0/8 \
  --set-json 'callers=[{"app":"ingress"}]' > "$folder/sqlite.yaml"
if render --set postgres=false > "$folder/refused" 2>&1; then
  echo 'Two servers with SQLite were not refused' >&2
  exit 1
fi
cd "$folder"
go mod init chart 2> /dev/null
go get k8s.io/client-go@v0.37.0 k8s.io/apimachinery@v0.37.0 2> /dev/null
go mod tidy 2> /dev/null
go run . postgres.yaml sqlite.yaml
