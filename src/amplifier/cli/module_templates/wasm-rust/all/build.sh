#!/bin/sh
# Needs: cargo
# Builds module.wasm into FOLDER, by default this one: ./build.sh [FOLDER]
set -eu
folder=$(cd "${1:-$(dirname "$0")}" && pwd)
cd "$(dirname "$0")"
if ! [ -d "$(rustc --print target-libdir --target wasm32-wasip2)" ]; then
    echo 'Rust cannot make components yet. Run `rustup target add wasm32-wasip2`.' >&2
    exit 75
fi
cargo fetch --quiet --locked || exit 75
cargo build --quiet --release --locked --target wasm32-wasip2
cp "${CARGO_TARGET_DIR:-.build}/wasm32-wasip2/release/module.wasm" "$folder/module.wasm"
