//! `notes`: keeps messages, and hands out the newest that fit.

wit_bindgen::generate!({ path: "../../../spec/amplifier-modules.wit", world: "context-module" });

use std::cell::RefCell;

use conforming::{bytes, number, obey, parse, text, Value};
use exports::amplifier::modules::context_manager::Guest;

const CHARACTERS_PER_TOKEN: u64 = 4;

thread_local! {
    static MESSAGES: RefCell<Vec<Value>> = const { RefCell::new(Vec::new()) };
}

struct Notes;

impl Guest for Notes {
    fn add_message(message: Vec<u8>) -> Result<(), String> {
        let mut message = parse(&message)?;
        if message["role"] == "user" {
            if let Some(said) = obey(&text(&message))? {
                message["content"] = said.into();
            }
        }
        MESSAGES.with_borrow_mut(|all| {
            all.push(message);
            keep_newest(all);
        });
        Ok(())
    }

    fn get_messages() -> Result<Vec<u8>, String> {
        Ok(MESSAGES.with_borrow(|all| bytes(all.clone().into())))
    }

    fn get_messages_for_request(params: Vec<u8>) -> Result<Vec<u8>, String> {
        let budget = parse(&params)?["token_budget"].as_u64().unwrap_or(0);
        let mut kept = MESSAGES.with_borrow(|all| all.clone());
        while budget > 0 && kept.len() > 1 && characters(&kept) > budget * CHARACTERS_PER_TOKEN {
            kept.remove(0);
        }
        Ok(bytes(kept.into()))
    }

    fn set_messages(messages: Vec<u8>) -> Result<(), String> {
        let Value::Array(mut all) = parse(&messages)? else {
            return Err("messages are an array".into());
        };
        keep_newest(&mut all);
        MESSAGES.set(all);
        Ok(())
    }

    fn clear() -> Result<(), String> {
        MESSAGES.take();
        Ok(())
    }
}

fn keep_newest(all: &mut Vec<Value>) {
    let most = number("max_messages").unwrap_or(usize::MAX);
    all.drain(..all.len().saturating_sub(most));
}

fn characters(messages: &[Value]) -> u64 {
    messages.iter().map(|each| text(each).chars().count() as u64).sum()
}

export!(Notes);
