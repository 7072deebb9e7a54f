#!/bin/sh
# Builds module.wasm. Needs cargo with the target wasm32-unknown-unknown, and wasm-tools:
#   rustup target add wasm32-unknown-unknown && cargo install wasm-tools
set -eu
cd "$(dirname "$0")"
# The same bytes on every machine.
export RUSTFLAGS="--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo --remap-path-prefix=$PWD=."
cargo build --quiet --release --target wasm32-unknown-unknown
wasm-tools component new --output module.wasm \
    "${CARGO_TARGET_DIR:-target}/wasm32-unknown-unknown/release/calculator.wasm"
