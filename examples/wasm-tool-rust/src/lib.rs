//! `echo`: a tool that says again what it is told. It sees nothing of the machine it runs on.

wit_bindgen::generate!({ path: "../../spec/amplifier-modules.wit", world: "tool-module" });

use std::time::{Duration, Instant};

use exports::amplifier::modules::tool::Guest;
use serde_json::{json, Value};

struct Echo;

impl Guest for Echo {
    fn get_spec() -> Vec<u8> {
        let spec = json!({
            "name": "echo",
            "description": "Says `text` again, and how many characters it has.",
            "parameters": {
                "type": "object",
                "properties": {"text": {"type": "string", "description": "What to say."}},
                "required": ["text"],
            },
        });
        spec.to_string().into_bytes()
    }

    fn execute(input: Vec<u8>) -> Result<Vec<u8>, String> {
        let input: Value = serde_json::from_slice(&input).map_err(|why| why.to_string())?;
        let text = input["text"]
            .as_str()
            .ok_or("The input has no `text`. Add one.")?;
        let answer = match obey(text) {
            Ok(said) => {
                let said = said.unwrap_or_else(|| format!("{}{text}", prefix()));
                json!({"success": true, "output": {"text": said, "length": text.chars().count()}})
            }
            Err(why) => json!({"success": false, "error": {"message": why}}),
        };
        Ok(answer.to_string().into_bytes())
    }
}

/// What the config asks to be put before each answer.
fn prefix() -> String {
    let config = std::env::var("AMPLIFIER_MODULE_CONFIG").unwrap_or_default();
    let config: Value = serde_json::from_str(&config).unwrap_or_default();
    config["prefix"].as_str().unwrap_or_default().into()
}

/// Texts that begin with `!` are orders: they let a person, or a test, try out what goes wrong.
fn obey(text: &str) -> Result<Option<String>, String> {
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

export!(Echo);
