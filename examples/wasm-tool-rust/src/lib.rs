//! A calculator that the model may call. It needs nothing from the machine it runs on.

wit_bindgen::generate!({ path: "../../spec/amplifier-modules.wit", world: "tool-module" });

use exports::amplifier::modules::tool::Guest;
use serde_json::{json, Value};

struct Calculator;

impl Guest for Calculator {
    fn get_spec() -> Vec<u8> {
        let spec = json!({
            "name": "calculator",
            "description": "Computes `a op b`, where op is one of + - * /.",
            "parameters": {
                "type": "object",
                "properties": {
                    "expression": {"type": "string", "description": "For example `6 * 7`."}
                },
                "required": ["expression"]
            }
        });
        spec.to_string().into_bytes()
    }

    fn execute(input: Vec<u8>) -> Result<Vec<u8>, String> {
        let input: Value = serde_json::from_slice(&input).map_err(|error| error.to_string())?;
        let expression = input["expression"]
            .as_str()
            .ok_or("The input has no text `expression`.")?;
        let answer = match compute(expression) {
            Ok(result) => json!({"success": true, "output": {"result": result}}),
            Err(message) => json!({"success": false, "error": {"message": message}}),
        };
        Ok(answer.to_string().into_bytes())
    }
}

fn compute(expression: &str) -> Result<f64, String> {
    let parts: Vec<&str> = expression.split_whitespace().collect();
    let [left, operator, right] = parts[..] else {
        return Err(format!("{expression:?} is not of the form `a op b`."));
    };
    let number = |text: &str| {
        text.parse::<f64>()
            .map_err(|_| format!("{text:?} is not a number."))
    };
    let (left, right) = (number(left)?, number(right)?);
    match operator {
        "+" => Ok(left + right),
        "-" => Ok(left - right),
        "*" => Ok(left * right),
        "/" if right == 0.0 => Err("Nothing can be divided by zero.".into()),
        "/" => Ok(left / right),
        _ => Err(format!("{operator:?} is none of + - * /.")),
    }
}

export!(Calculator);
