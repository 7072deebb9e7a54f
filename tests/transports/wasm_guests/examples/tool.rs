//! Echoes its input, or misbehaves in the way that the input asks for.

wit_bindgen::generate!({ path: "../../../spec/amplifier-modules.wit", world: "tool-module" });

use exports::amplifier::modules::tool::Guest;
use guests::{as_text, number, text};
use std::sync::atomic::{AtomicU32, Ordering};

struct Tool;

static CALLS: AtomicU32 = AtomicU32::new(0);

impl Guest for Tool {
    fn get_spec() -> Vec<u8> {
        br#"{"name":"echo-tool","description":"Echoes its input.","parameters":{"type":"object",
        "properties":{"input":{"type":"string"}},"x-amplifier":{"effect":"pure"}}}"#
            .to_vec()
    }

    fn execute(input: Vec<u8>) -> Result<Vec<u8>, String> {
        let input = as_text(input)?;
        match text(&input, "do").unwrap_or("echo") {
            "refuse" => Err("I would rather not".to_string()),
            "fail" => Ok(br#"{"success":false,"error":{"message":"it broke"}}"#.to_vec()),
            "trap" => panic!("on purpose"),
            "garbage" => Ok(vec![0xff, 0xfe, b'{']),
            "array" => Ok(b"[1, 2]".to_vec()),
            "number" => Ok(br#"{"success": "perhaps", "error": 7}"#.to_vec()),
            "large" => Ok(vec![b' '; number(&input, "size").unwrap_or(0) as usize]),
            "loop" => loop {
                core::hint::black_box(0);
            },
            "hog" => {
                let mut kept = Vec::new();
                loop {
                    kept.push(vec![1u8; 1 << 20]);
                    core::hint::black_box(&kept);
                }
            }
            "count" => {
                let calls = CALLS.fetch_add(1, Ordering::Relaxed) + 1;
                Ok(format!(r#"{{"output":{calls}}}"#).into_bytes())
            }
            _ => Ok(format!(r#"{{"success":true,"output":{input}}}"#).into_bytes()),
        }
    }
}

export!(Tool);
