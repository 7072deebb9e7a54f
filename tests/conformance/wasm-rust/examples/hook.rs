//! `gatekeeper`: denies what speaks of a forbidden word.

wit_bindgen::generate!({ path: "../../../spec/amplifier-modules.wit", world: "hook-module" });

use conforming::{bytes, config, json, obey, parse, Value};
use exports::amplifier::modules::hook_handler::{EventSubscription, Guest};

struct Gatekeeper;

impl Guest for Gatekeeper {
    fn get_subscriptions(config: Vec<u8>) -> Vec<EventSubscription> {
        let config = parse(&config).unwrap_or_default();
        vec![EventSubscription {
            event: config["event"].as_str().unwrap_or("tool:pre").into(),
            priority: config["priority"].as_i64().unwrap_or(0) as i32,
            name: "gatekeeper".into(),
        }]
    }

    fn handle(event: Vec<u8>) -> Result<Vec<u8>, String> {
        judge(parse(&event)?["data"].take()).map(bytes)
    }
}

fn judge(mut data: Value) -> Result<Value, String> {
    let text = data["tool_input"]["text"].as_str().unwrap_or("").to_owned();
    if let Some(other) = text.strip_prefix("!modify ") {
        data["tool_input"]["text"] = other.into();
        return Ok(json!({"action": "modify", "data": data}));
    }
    if let Some(remark) = text.strip_prefix("!inject ") {
        return Ok(json!({"action": "inject_context", "context_injection": remark}));
    }
    let word = config("forbid").unwrap_or_else(|| "secret".into());
    let said = obey(&text)?.or_else(|| text.contains(&word).then(|| format!("forbidden: {word}")));
    Ok(match said {
        Some(reason) => json!({"action": "deny", "reason": reason}),
        None => json!({"action": "continue"}),
    })
}

export!(Gatekeeper);
