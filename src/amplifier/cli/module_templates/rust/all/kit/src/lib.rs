//! What every module in Rust does: serve on loopback, say so, let only its host in, and end with it.

mod kernel;
mod lifecycle;

pub use kernel::{kernel, Kernel};
pub use lifecycle::{Config, Lifecycle};

/// The types and services of `amplifier_module.proto`.
pub mod contract {
    #![allow(clippy::all)]
    tonic::include_proto!("amplifier.module");
}

use std::fs::metadata;
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::os::unix::fs::FileTypeExt;
use std::process::{exit, ExitCode};

use tonic::service::{InterceptorLayer, Routes};
use tonic::transport::server::TcpIncoming;
use tonic::transport::Server;
use tonic::{Request, Status};

/// The largest message that is taken; the host's own limit.
pub const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;

/// Serve `services` on the port that `--port` asks for, until the host is gone.
pub fn run(services: Routes) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    match runtime.block_on(serve(services)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            println!("ERROR:{why}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(services: Routes) -> Result<(), String> {
    let address = (Ipv4Addr::LOCALHOST, port()?).into();
    let incoming = TcpIncoming::bind(address).map_err(|why| format!("no port: {why}"))?;
    let port = incoming.local_addr().map_err(|why| why.to_string())?.port();
    println!("READY:{port}");
    io::stdout().flush().map_err(|why| why.to_string())?;
    end_with_stdin();
    let token = std::env::var("AMPLIFIER_AUTH_TOKEN").unwrap_or_default();
    Server::builder()
        .layer(InterceptorLayer::new(move |call| check(call, &token)))
        .add_routes(services)
        .serve_with_incoming(incoming.with_nodelay(Some(true)))
        .await
        .map_err(|why| why.to_string())
}

fn port() -> Result<u16, String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [] => Ok(0),
        [name, port] if name == "--port" => {
            port.parse().map_err(|_| format!("{port:?} is no port"))
        }
        _ => Err("the only argument is `--port PORT`".into()),
    }
}

/// Turn away whoever does not know the secret of the session.
fn check(call: Request<()>, token: &str) -> Result<Request<()>, Status> {
    let given = call.metadata().get("x-amplifier-token");
    if token.is_empty() || given.is_some_and(|given| same(given.as_bytes(), token.as_bytes())) {
        return Ok(call);
    }
    Err(Status::unauthenticated("The token is missing or wrong."))
}

/// Whether they are the same; how long it takes to say does not tell where they differ.
fn same(one: &[u8], other: &[u8]) -> bool {
    let differences = one.iter().zip(other).fold(0, |seen, (a, b)| seen | (a ^ b));
    one.len() == other.len() && differences == 0
}

/// The host holds the other end of stdin: when that is closed, it is gone.
fn end_with_stdin() {
    let by_hand = metadata("/dev/stdin").is_ok_and(|stdin| stdin.file_type().is_char_device());
    if !by_hand {
        std::thread::spawn(|| {
            let _ = io::copy(&mut io::stdin(), &mut io::sink());
            exit(0);
        });
    }
}
