//! `relay`: the plainest agent loop.

wit_bindgen::generate!({
    path: "../../../spec/amplifier-modules.wit",
    world: "orchestrator-module"
});

use amplifier::modules::kernel_service as kernel;
use conforming::{bytes, config, json, number, obey, parse, text, Value};
use exports::amplifier::modules::orchestrator::Guest;

struct Relay;

impl Guest for Relay {
    fn execute(request: Vec<u8>) -> Result<Vec<u8>, String> {
        let request = parse(&request)?;
        let prompt = request["prompt"].as_str().ok_or("no prompt")?;
        let answer = match obey(prompt)? {
            Some(said) => said,
            None => turn(prompt)?,
        };
        Ok(bytes(answer.into()))
    }
}

fn turn(prompt: &str) -> Result<String, String> {
    let verdict = emit("prompt:submit", json!({"prompt": prompt}))?;
    if verdict["action"] == "deny" {
        return Ok(verdict["reason"].as_str().unwrap_or_default().into());
    }
    add(json!({"role": "user", "content": prompt}))?;
    let answer = steps()?;
    emit("prompt:complete", json!({"prompt": prompt, "response": answer}))?;
    Ok(format!("{}{answer}", config("prefix").unwrap_or_default()))
}

fn steps() -> Result<String, String> {
    let providers = ask("amplifier.providers")?;
    let provider = &providers[0]["name"];
    let tools = ask("amplifier.tools")?;
    for _ in 0..number("max_steps").unwrap_or(10) {
        emit("provider:request", json!({"provider": provider}))?;
        let request = json!({"messages": parse(&kernel::get_messages(b"")?)?, "tools": tools});
        let asked = bytes(json!({"name": provider, "request": request}));
        let response = parse(&kernel::complete_with_provider(&asked)?)?;
        let calls = response["tool_calls"].as_array().cloned().unwrap_or_default();
        let said = text(&response);
        add(assistant(&said, &calls))?;
        if calls.is_empty() {
            return Ok(said);
        }
        for call in &calls {
            let answer = answer(call)?;
            add(json!({"role": "tool", "tool_call_id": call["id"], "content": answer}))?;
        }
    }
    Ok("The steps are used up.".into())
}

fn assistant(said: &str, calls: &[Value]) -> Value {
    let called = calls.iter().map(|call| {
        json!({"type": "tool_call", "id": call["id"], "name": call["name"],
               "input": call["arguments"]})
    });
    let spoken = (!said.is_empty()).then(|| json!({"type": "text", "text": said}));
    json!({"role": "assistant", "content": spoken.into_iter().chain(called).collect::<Vec<_>>()})
}

fn answer(call: &Value) -> Result<String, String> {
    let mut data = json!({"tool_name": call["name"], "tool_input": call["arguments"],
                          "tool_call_id": call["id"]});
    let verdict = emit("tool:pre", data.clone())?;
    if verdict["action"] == "deny" {
        let reason = verdict["reason"].as_str().unwrap_or_default();
        return Ok(format!("Denied: {reason}"));
    }
    if let Some(changed) = verdict["data"].get("tool_input") {
        data["tool_input"] = changed.clone();
    }
    let asked = bytes(json!({"name": call["name"], "input": data["tool_input"]}));
    let result = parse(&kernel::execute_tool(&asked)?)?;
    data["result"] = result.clone();
    emit("tool:post", data)?;
    let said = if result["success"] == true { &result["output"] } else { &result["error"] };
    Ok(said.as_str().map_or_else(|| said.to_string(), Into::into))
}

fn ask(capability: &str) -> Result<Value, String> {
    parse(&kernel::get_capability(&bytes(json!({"name": capability})))?)
}

fn emit(event: &str, data: Value) -> Result<Value, String> {
    parse(&kernel::emit_hook(&bytes(json!({"event": event, "data": data})))?)
}

fn add(message: Value) -> Result<(), String> {
    kernel::add_message(&bytes(message))
}

export!(Relay);
