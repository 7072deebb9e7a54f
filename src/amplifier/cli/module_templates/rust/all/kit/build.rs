//! Makes Rust of the contract.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let contract = protox::compile(["amplifier_module.proto"], ["."])?;
    println!("cargo::rerun-if-changed=amplifier_module.proto");
    tonic_prost_build::configure().compile_fds(contract)?;
    Ok(())
}
