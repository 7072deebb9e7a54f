//! `gatekeeper`: approves whatever does not speak of a forbidden word.

wit_bindgen::generate!({ path: "../../../spec/amplifier-modules.wit", world: "approval-module" });

use conforming::{bytes, config, json, obey, parse};
use exports::amplifier::modules::approval_provider::Guest;

struct Gatekeeper;

impl Guest for Gatekeeper {
    fn request_approval(request: Vec<u8>) -> Result<Vec<u8>, String> {
        let request = parse(&request)?;
        let action = request["action"].as_str().ok_or("no action")?;
        let said = obey(action)?;
        let word = config("forbid").unwrap_or_else(|| "secret".into());
        let approved = !action.contains(&word);
        let reason = match said {
            _ if !approved => format!("forbidden: {word}"),
            Some(said) => said,
            None => format!("approved: {action}"),
        };
        Ok(bytes(json!({"approved": approved, "reason": reason, "remember": false})))
    }
}

export!(Gatekeeper);
