//! `echo`: says again what it is told, and calls a tool when it is told to.

wit_bindgen::generate!({ path: "../../../spec/amplifier-modules.wit", world: "provider-module" });

use conforming::{bytes, config, json, obey, parse, text, Value};
use exports::amplifier::modules::provider::Guest;

struct Echo;

impl Guest for Echo {
    fn get_info() -> Vec<u8> {
        bytes(json!({
            "id": "echo",
            "display_name": "Echo",
            "credential_env_vars": [],
            "capabilities": ["tools"],
            "defaults": {"model": model()},
        }))
    }

    fn list_models() -> Result<Vec<u8>, String> {
        Ok(bytes(json!([{
            "id": model(),
            "display_name": "Echo",
            "context_window": 4096,
            "max_output_tokens": 1024,
        }])))
    }

    fn complete(request: Vec<u8>) -> Result<Vec<u8>, String> {
        let request = parse(&request)?;
        let messages = request["messages"].as_array().ok_or("no messages")?;
        let last = messages.last().ok_or("no messages")?;
        let (asked, is_user) = (text(last), last["role"] == "user");
        if let Some(call) = asked.strip_prefix("!tool ").filter(|_| is_user) {
            return Ok(bytes(tool_call(call)?));
        }
        let said = if is_user { obey(&asked)? } else { None };
        let prefix = config("prefix").unwrap_or_default();
        let said = said.unwrap_or_else(|| format!("{prefix}{asked}"));
        Ok(bytes(response(&said, &asked)))
    }

    fn parse_tool_calls(response: Vec<u8>) -> Result<Vec<u8>, String> {
        let calls = parse(&response)?["tool_calls"].take();
        Ok(bytes(if calls.is_array() { calls } else { json!([]) }))
    }
}

fn model() -> String {
    config("model").unwrap_or_else(|| "echo-1".into())
}

fn tool_call(asked: &str) -> Result<Value, String> {
    let (name, arguments) = asked.split_once(' ').ok_or("no arguments")?;
    let arguments = parse(arguments.as_bytes())?;
    Ok(json!({
        "content": [],
        "tool_calls": [{"id": "call-1", "name": name, "arguments": arguments}],
        "finish_reason": "tool_calls",
    }))
}

fn response(said: &str, asked: &str) -> Value {
    let words = |text: &str| text.split_whitespace().count();
    let (read, written) = (words(asked), words(said));
    json!({
        "content": [{"type": "text", "text": said}],
        "finish_reason": "stop",
        "usage": {
            "input_tokens": read,
            "output_tokens": written,
            "total_tokens": read + written,
        },
    })
}

export!(Echo);
