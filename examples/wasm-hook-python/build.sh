#!/bin/sh
# Builds module.wasm (18 MB: Python itself is in it). Needs `pip install componentize-py`.
set -eu
cd "$(dirname "$0")"
componentize-py -d ../../spec/amplifier-modules.wit -w hook-module componentize hook \
    -o "${1:-module.wasm}"
