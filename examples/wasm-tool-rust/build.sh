#!/bin/sh
# Builds module.wasm into the given folder, or into this one.
# Besides cargo it takes the target: rustup target add wasm32-wasip2
# Needs: cargo
set -eu
out=$(cd "${1:-$(dirname "$0")}" && pwd)
cd "$(dirname "$0")"
rustc --print target-libdir --target wasm32-wasip2 | xargs test -d || {
    echo 'run `rustup target add wasm32-wasip2`' >&2
    exit 75
}
cargo fetch --quiet --locked || exit 75
# The same bytes on every machine.
export RUSTFLAGS="--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo --remap-path-prefix=$PWD=."
cargo build --quiet --release --locked --target wasm32-wasip2
cp "${CARGO_TARGET_DIR:-target}/wasm32-wasip2/release/echo.wasm" "$out/module.wasm"
