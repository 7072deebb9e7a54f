#!/bin/sh
# Builds module.wasm into the given folder, or into this one.
#   rustup target add wasm32-unknown-unknown && cargo install wasm-tools
# Needs: cargo wasm-tools
set -eu
out=$(cd "${1:-$(dirname "$0")}" && pwd)
cd "$(dirname "$0")"
cargo fetch --quiet --locked || exit 75
# The same bytes on every machine.
export RUSTFLAGS="--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo --remap-path-prefix=$PWD=."
cargo build --quiet --release --locked --target wasm32-unknown-unknown
wasm-tools component new --output "$out/module.wasm" \
    "${CARGO_TARGET_DIR:-target}/wasm32-unknown-unknown/release/calculator.wasm"
