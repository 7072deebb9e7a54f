//! Keeps messages in its own memory.

wit_bindgen::generate!({ path: "../../../spec/amplifier-modules.wit", world: "context-module" });

use exports::amplifier::modules::context_manager::Guest;
use guests::{as_text, number};
use std::cell::RefCell;

struct Context;

thread_local! {
    static MESSAGES: RefCell<Vec<serde_json::Value>> = const { RefCell::new(Vec::new()) };
}

fn array(messages: &[serde_json::Value]) -> Vec<u8> {
    serde_json::to_vec(messages).unwrap_or_default()
}

impl Guest for Context {
    fn add_message(message: Vec<u8>) -> Result<(), String> {
        let message = as_text(message)?;
        if message.contains("trap me") {
            panic!("on purpose");
        }
        if message.contains("refuse me") {
            return Err("I would rather not".to_string());
        }
        let message = serde_json::from_str(&message).map_err(|error| error.to_string())?;
        MESSAGES.with_borrow_mut(|all| all.push(message));
        Ok(())
    }

    fn get_messages() -> Result<Vec<u8>, String> {
        Ok(MESSAGES.with_borrow(|all| array(all)))
    }

    /// One message for every token of the budget; all of them without one.
    fn get_messages_for_request(params: Vec<u8>) -> Result<Vec<u8>, String> {
        let budget = number(&as_text(params)?, "token_budget");
        Ok(MESSAGES.with_borrow(|all| {
            let most = budget.map_or(all.len(), |budget| budget as usize);
            array(&all[all.len().saturating_sub(most)..])
        }))
    }

    fn set_messages(messages: Vec<u8>) -> Result<(), String> {
        let messages = serde_json::from_slice(&messages).map_err(|error| error.to_string())?;
        MESSAGES.set(messages);
        Ok(())
    }

    fn clear() -> Result<(), String> {
        MESSAGES.take();
        Ok(())
    }
}

export!(Context);
