//! Texts that begin with `!` are orders: they let a person, or a test, try out what goes wrong.

use std::process::exit;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What is to be done with a text.
pub enum Reply {
    /// What is always done.
    Usual,
    /// Fail, and say this.
    Fail(String),
    /// Answer this.
    Say(String),
}

/// How many calls were cancelled while they waited.
#[derive(Default)]
pub struct Cancellations(AtomicU64);

impl Cancellations {
    pub fn so_far(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Carry out the order that `text` is, if it is one.
pub async fn obey(text: &str, cancellations: &Cancellations) -> Reply {
    let (order, rest) = text.split_once(' ').unwrap_or((text, ""));
    match order {
        "!fail" => return Reply::Fail(rest.into()),
        "!cancelled" => return Reply::Say(cancellations.so_far().to_string()),
        "!large" => return Reply::Say("x".repeat(rest.parse().unwrap_or(0))),
        "!crash" => exit(3),
        "!sleep" => sleep(rest, cancellations).await,
        _ => {}
    }
    Reply::Usual
}

async fn sleep(seconds: &str, cancellations: &Cancellations) {
    let time = seconds
        .parse()
        .ok()
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let mut waiting = Waiting(Some(cancellations));
    tokio::time::sleep(time.unwrap_or_default()).await;
    waiting.0 = None;
}

/// Dropped before its time when the host cancels the call.
struct Waiting<'a>(Option<&'a Cancellations>);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(cancellations) = self.0 {
            cancellations.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}
