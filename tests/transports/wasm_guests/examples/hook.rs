//! Denies whatever it listens to; which event that is stands in its config.

wit_bindgen::generate!({ path: "../../../spec/amplifier-modules.wit", world: "hook-module" });

use exports::amplifier::modules::hook_handler::{EventSubscription, Guest};
use guests::{as_text, number, text};

struct Hook;

impl Guest for Hook {
    fn get_subscriptions(config: Vec<u8>) -> Vec<EventSubscription> {
        let config = as_text(config).unwrap_or_default();
        vec![EventSubscription {
            event: text(&config, "event").unwrap_or("tool:pre").to_string(),
            priority: number(&config, "priority").unwrap_or(0) as i32,
            name: "deny-all".to_string(),
        }]
    }

    fn handle(event: Vec<u8>) -> Result<Vec<u8>, String> {
        let event = as_text(event)?;
        match text(&event, "do").unwrap_or("deny") {
            "refuse" => Err("I would rather not".to_string()),
            "trap" => panic!("on purpose"),
            "garbage" => Ok(b"{".to_vec()),
            "invent" => Ok(br#"{"action":"explode"}"#.to_vec()),
            "continue" => Ok(br#"{"action":"continue"}"#.to_vec()),
            "inject" => Ok(br#"{"action":"Inject_Context","context_injection":"Remember this.",
                "context_injection_role":"System","approval_default":"Allow",
                "user_message":"Seen.","user_message_level":"Info",
                "append_to_last_tool_result":null}"#
                .to_vec()),
            _ => Ok(br#"{"action":"deny","reason":"Denied by WASM hook","approval_timeout":300.0}"#
                .to_vec()),
        }
    }
}

export!(Hook);
