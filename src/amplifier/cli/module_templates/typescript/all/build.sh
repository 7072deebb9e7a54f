#!/bin/sh
# Needs: node npm
# Builds the program `serve` into FOLDER, by default this one: ./build.sh [FOLDER]
set -eu
folder=$(cd "${1:-$(dirname "$0")}" && pwd)
cd "$(dirname "$0")"
npm ci --ignore-scripts --no-audit --no-fund --prefer-offline --silent >&2 || exit 75
node_modules/.bin/tsc
node_modules/.bin/esbuild src/main.ts --bundle --platform=node --target=node20 --format=cjs \
    --log-level=warning --banner:js='#!/usr/bin/env node' --outfile="$folder/serve"
chmod +x "$folder/serve"
