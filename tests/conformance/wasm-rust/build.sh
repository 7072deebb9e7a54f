#!/bin/sh
# Builds a module directory for each kind into the given folder: FOLDER/hook/module.wasm, ...
# Besides cargo it takes the target: rustup target add wasm32-wasip2
# Needs: cargo
set -eu
out=$(cd "$1" && pwd)
cd "$(dirname "$0")"
rustc --print target-libdir --target wasm32-wasip2 | xargs test -d || {
    echo 'run `rustup target add wasm32-wasip2`' >&2
    exit 75
}
cargo fetch --quiet --locked || exit 75
cargo build --quiet --release --locked --target wasm32-wasip2 --examples
for kind in hook context approval provider orchestrator; do
    mkdir "$out/$kind"
    cp "${CARGO_TARGET_DIR:-target}/wasm32-wasip2/release/examples/$kind.wasm" \
        "$out/$kind/module.wasm"
    printf '[module]\ntransport = "wasm"\n[wasm]\nguard = %s\n' \
        "$([ $kind = hook ] && echo true || echo false)" > "$out/$kind/amplifier.toml"
done
