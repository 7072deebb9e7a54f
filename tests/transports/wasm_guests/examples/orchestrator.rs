//! The agent loop. A prompt of the form `function {json}` asks the kernel just that instead.

wit_bindgen::generate!({
    path: "../../../spec/amplifier-modules.wit",
    world: "orchestrator-module"
});

use amplifier::modules::kernel_service as kernel;
use exports::amplifier::modules::orchestrator::Guest;
use serde_json::{json, Value};

struct Orchestrator;

impl Guest for Orchestrator {
    fn execute(request: Vec<u8>) -> Result<Vec<u8>, String> {
        let request: Value = parse(&request)?;
        let prompt = request["prompt"].as_str().ok_or("no prompt")?;
        let answer = match prompt.split_once(' ') {
            Some((function, payload)) => match ask(function, payload.as_bytes()) {
                Some(Ok(answer)) => String::from_utf8_lossy(&answer).into_owned(),
                Some(Err(error)) => return Err(error),
                None => turn(prompt)?,
            },
            None => turn(prompt)?,
        };
        Ok(json!(answer).to_string().into_bytes())
    }
}

fn ask(function: &str, payload: &[u8]) -> Option<Result<Vec<u8>, String>> {
    let nothing = |_| b"null".to_vec();
    Some(match function {
        "execute-tool" => kernel::execute_tool(payload),
        "complete-with-provider" => kernel::complete_with_provider(payload),
        "emit-hook" => kernel::emit_hook(payload),
        "get-messages" => kernel::get_messages(payload),
        "add-message" => kernel::add_message(payload).map(nothing),
        "get-capability" => kernel::get_capability(payload),
        "register-capability" => kernel::register_capability(payload).map(nothing),
        "loop" => loop {
            core::hint::black_box(0);
        },
        _ => return None,
    })
}

fn turn(prompt: &str) -> Result<String, String> {
    emit("prompt:submit", json!({"prompt": prompt}))?;
    add(json!({"role": "user", "content": prompt}))?;
    loop {
        let messages: Value = parse(&kernel::get_messages(b"")?)?;
        let request = json!({"name": "echo-provider", "request": {"messages": messages}});
        let answer = kernel::complete_with_provider(request.to_string().as_bytes())?;
        let response: Value = parse(&answer)?;
        let calls = response["tool_calls"].as_array().cloned().unwrap_or_default();
        if calls.is_empty() {
            let text = response["content"][0]["text"].as_str().unwrap_or_default();
            add(json!({"role": "assistant", "content": text}))?;
            emit("prompt:complete", json!({"response": text}))?;
            return Ok(text.to_string());
        }
        add(json!({"role": "assistant", "content": "", "tool_calls": calls}))?;
        for call in calls {
            add(json!({
                "role": "tool",
                "tool_call_id": call["id"],
                "content": run(&call)?
            }))?;
        }
    }
}

fn run(call: &Value) -> Result<String, String> {
    let (name, input) = (&call["name"], &call["arguments"]);
    let verdict = emit("tool:pre", json!({"tool_name": name, "tool_input": input}))?;
    if verdict["action"] == "deny" {
        return Ok(verdict["reason"].to_string());
    }
    let request = json!({"name": name, "input": input});
    let result: Value = parse(&kernel::execute_tool(request.to_string().as_bytes())?)?;
    emit("tool:post", json!({"tool_name": name, "result": result}))?;
    Ok(result["output"].to_string())
}

fn emit(event: &str, data: Value) -> Result<Value, String> {
    let request = json!({"event": event, "data": data});
    parse(&kernel::emit_hook(request.to_string().as_bytes())?)
}

fn add(message: Value) -> Result<(), String> {
    kernel::add_message(message.to_string().as_bytes())
}

fn parse(json: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(json).map_err(|error| error.to_string())
}

export!(Orchestrator);
