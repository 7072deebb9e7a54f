#!/bin/sh
# Builds module.wasm into the given folder, or into this one (18 MB: Python itself is in it).
# Needs: componentize-py
set -eu
out=$(cd "${1:-$(dirname "$0")}" && pwd)
cd "$(dirname "$0")"
componentize-py -d ../../spec/amplifier-modules.wit -w hook-module componentize hook \
    -o "$out/module.wasm"
