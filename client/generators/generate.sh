#!/bin/sh
# Generates a client of the service: sh generate.sh NAME CONTRACT FOLDER. NAME is that of a configuration beside this script, CONTRACT is
# openapi.json, and FOLDER is made. Versions and options are those that the tests of the service generate, compile and call.
set -eu
name=$1 contract=$(realpath "$2") here=$(dirname "$(realpath "$0")")
case $3 in
/*) folder=$3 ;;
*) folder=$PWD/$3 ;;
esac
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT

case $name in
python)
  # Needs Python 3.10. The client needs attrs, httpx and python-dateutil.
  python3 -m venv "$tools"
  "$tools/bin/pip" install --quiet openapi-python-client==0.29.1
  "$tools/bin/openapi-python-client" generate --path "$contract" --output-path "$folder" --meta none --config "$here/python.yaml"
  ;;
go)
  mkdir -p "$folder"
  go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 -config "$here/go.yaml" -o "$folder/relayer.go" "$contract"
  ;;
java | rust | typescript-fetch)
  # Needs Java 11 and Maven, which brings the generator.
  version=7.25.0
  mvn -q dependency:copy -Dartifact=org.openapitools:openapi-generator-cli:$version -DoutputDirectory="$tools"
  java -jar "$tools/openapi-generator-cli-$version.jar" generate -c "$here/$name.yaml" -i "$contract" -o "$folder"
  ;;
openapi-ts)
  export CONTRACT="$contract" FOLDER="$folder"
  npx --yes --package @hey-api/openapi-ts@0.95.0 --package typescript@5.9.3 openapi-ts --file "$here/openapi-ts.mjs" --no-log-file
  ;;
orval)
  # RELAYER_URL is the address of the service.
  export CONTRACT="$contract" FOLDER="$folder"
  npx --yes --package orval@7.13.2 --package typescript@5.9.3 orval --config "$here/orval.cjs"
  ;;
*)
  echo "No configuration $name: go, java, openapi-ts, orval, python, rust, typescript-fetch" >&2
  exit 2
  ;;
esac
