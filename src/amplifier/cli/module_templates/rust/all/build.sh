#!/bin/sh
# Needs: cargo
# Builds the program `serve` into FOLDER, by default this one: ./build.sh [FOLDER]
set -eu
folder=$(cd "${1:-$(dirname "$0")}" && pwd)
cd "$(dirname "$0")"
cargo fetch --quiet --locked || exit 75
cargo build --quiet --release --locked
cp "${CARGO_TARGET_DIR:-.build}/release/serve" "$folder/serve"
