//! A model that calls the tool it was told to call, and then says that it is done.

wit_bindgen::generate!({ path: "../../../spec/amplifier-modules.wit", world: "provider-module" });

use exports::amplifier::modules::provider::Guest;
use guests::{as_text, text};

struct Provider;

impl Guest for Provider {
    fn get_info() -> Vec<u8> {
        br#"{"id":"echo-provider","display_name":"Echo","credential_env_vars":[],
        "capabilities":["tools"],"defaults":{"context_window":4096}}"#
            .to_vec()
    }

    fn list_models() -> Result<Vec<u8>, String> {
        Ok(br#"[{"id":"echo-model","display_name":"Echo","context_window":4096,
        "max_output_tokens":1024}]"#
            .to_vec())
    }

    fn complete(request: Vec<u8>) -> Result<Vec<u8>, String> {
        let request = as_text(request)?;
        if request.contains("refuse me") {
            return Err("I would rather not".to_string());
        }
        let has_answer = request.contains(r#""role": "tool""#);
        let tool = request.split("call ").nth(1).and_then(|rest| rest.split('.').next());
        Ok(match tool {
            Some(tool) if !has_answer => format!(
                r#"{{"content":[],"finish_reason":"tool_calls","tool_calls":
                [{{"id":"call-1","name":"{tool}","arguments":{{"input":"from the model"}}}}]}}"#
            ),
            _ => r#"{"content":[{"type":"text","text":"Echo response from WASM provider"}],
                "finish_reason":"stop","usage":{"input_tokens":3,"output_tokens":5,
                "total_tokens":8}}"#
                .to_string(),
        }
        .into_bytes())
    }

    fn parse_tool_calls(response: Vec<u8>) -> Result<Vec<u8>, String> {
        let response = as_text(response)?;
        let Some((_, calls)) = response.split_once(r#""tool_calls": ["#) else {
            return Ok(b"[]".to_vec());
        };
        let name = text(calls, "name").ok_or("a call without a name")?;
        Ok(format!(
            r#"[{{"id":"call-1","name":"{name}","arguments":{{"input":"from the model"}}}}]"#
        )
        .into_bytes())
    }
}

export!(Provider);
