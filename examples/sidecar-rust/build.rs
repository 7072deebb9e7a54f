//! Makes Rust of the contract, `spec/amplifier_module.proto`.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let contract = protox::compile(["amplifier_module.proto"], ["../../spec"])?;
    println!("cargo::rerun-if-changed=../../spec/amplifier_module.proto");
    tonic_prost_build::configure()
        .build_client(false)
        .compile_fds(contract)?;
    Ok(())
}
