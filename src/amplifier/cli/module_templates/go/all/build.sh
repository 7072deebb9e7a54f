#!/bin/sh
# Needs: go
# Builds the program `serve` into FOLDER, by default this one: ./build.sh [FOLDER]
set -eu
folder=$(cd "${1:-$(dirname "$0")}" && pwd)
cd "$(dirname "$0")"
go mod download || exit 75
go build -trimpath -ldflags="-s -w" -o "$folder/serve" .
