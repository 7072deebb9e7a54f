//! Approves what bears a low risk.

wit_bindgen::generate!({ path: "../../../spec/amplifier-modules.wit", world: "approval-module" });

use exports::amplifier::modules::approval_provider::Guest;
use guests::{as_text, text};

struct Approval;

impl Guest for Approval {
    fn request_approval(request: Vec<u8>) -> Result<Vec<u8>, String> {
        let request = as_text(request)?;
        if request.contains("trap me") {
            panic!("on purpose");
        }
        let is_low = text(&request, "risk_level").ok_or("no risk_level")? == "low";
        let reason = if is_low { "harmless" } else { "too risky" };
        Ok(format!(r#"{{"approved":{is_low},"reason":"{reason}","remember":false}}"#).into_bytes())
    }
}

export!(Approval);
