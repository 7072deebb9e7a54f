#!/bin/sh
# Builds the program into the given folder, or into target/release/, where hosts look as well.
# Needs: cargo
set -eu
out=${1:+$(cd "$1" && pwd)}
cd "$(dirname "$0")"
cargo fetch --quiet --locked || exit 75
cargo build --quiet --release --locked
[ -z "$out" ] || cp "${CARGO_TARGET_DIR:-target}/release/gatekeeper" "$out/"
