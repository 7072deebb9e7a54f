//! What the components share: their config, and the orders that try out what goes wrong.

use std::time::{Duration, Instant};

pub use serde_json::{json, Value};

/// A text of the module's config.
pub fn config(key: &str) -> Option<String> {
    let config = std::env::var("AMPLIFIER_MODULE_CONFIG").unwrap_or_default();
    let config: Value = serde_json::from_str(&config).ok()?;
    Some(config[key].as_str()?.into())
}

/// A number of the module's config.
pub fn number(key: &str) -> Option<usize> {
    let config = std::env::var("AMPLIFIER_MODULE_CONFIG").unwrap_or_default();
    let config: Value = serde_json::from_str(&config).ok()?;
    Some(config[key].as_u64()? as usize)
}

/// Carry out the order that `text` is: what it wants to be answered, or None for the usual.
pub fn obey(text: &str) -> Result<Option<String>, String> {
    let (order, rest) = text.split_once(' ').unwrap_or((text, ""));
    match order {
        "!fail" => return Err(rest.into()),
        "!large" => return Ok(Some("x".repeat(rest.parse().unwrap_or(0)))),
        "!crash" => panic!("as it was told"),
        "!sleep" => compute_for(rest.parse().unwrap_or(0.0)),
        _ => {}
    }
    Ok(None)
}

/// A component cannot sleep.
fn compute_for(seconds: f64) {
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    while Instant::now() < end {}
}

pub fn parse(json: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(json).map_err(|why| why.to_string())
}

pub fn bytes(value: Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

/// The text of a message, whose content is a text or blocks.
pub fn text(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().filter_map(|each| each["text"].as_str()).collect(),
        _ => String::new(),
    }
}
