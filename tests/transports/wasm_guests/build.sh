#!/bin/sh
# Builds the components in this folder from examples/*.rs.
# Needs cargo, its wasm32-unknown-unknown and wasm32-wasip2 targets, and wasm-tools
# (`cargo install wasm-tools`).
set -eu
cd "$(dirname "$0")"
out=${CARGO_TARGET_DIR:-target}
# The same bytes on every machine.
export RUSTFLAGS="--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo --remap-path-prefix=$PWD=."
build="cargo build --quiet --release"
for guest in tool hook context approval provider orchestrator; do
    $build --target wasm32-unknown-unknown --example "$guest"
    wasm-tools component new "$out/wasm32-unknown-unknown/release/examples/$guest.wasm" \
        --output "$guest.wasm"
done
$build --target wasm32-wasip2 --example peek
cp "$out/wasm32-wasip2/release/examples/peek.wasm" peek.wasm
