//! Tries to touch the machine it runs on, in the way that the input asks for.

wit_bindgen::generate!({ path: "../../../spec/amplifier-modules.wit", world: "tool-module" });

use exports::amplifier::modules::tool::Guest;
use guests::{as_text, text};
use std::{env, fs, io, net, thread, time};

struct Peek;

impl Guest for Peek {
    fn get_spec() -> Vec<u8> {
        br#"{"name":"peek","description":"Looks around.","parameters":{"type":"object"}}"#.to_vec()
    }

    fn execute(input: Vec<u8>) -> Result<Vec<u8>, String> {
        let input = as_text(input)?;
        let seen = look(text(&input, "do").unwrap_or(""), text(&input, "what").unwrap_or(""))
            .map_err(|error| error.to_string())?;
        Ok([r#"{"output":""#, &seen.replace('"', "\\\""), r#""}"#].concat().into_bytes())
    }
}

fn look(action: &str, what: &str) -> io::Result<String> {
    match action {
        "env" => env::var(what).map_err(io::Error::other),
        "names" => Ok(env::vars().map(|(name, _)| name).collect::<Vec<_>>().join(" ")),
        "read" => fs::read_to_string(what),
        "write" => fs::write(what, "written by a guest").map(|()| String::new()),
        "connect" => net::TcpStream::connect(what).map(|_| String::new()),
        "sleep" => {
            thread::sleep(time::Duration::from_secs(3600));
            Ok(String::new())
        }
        "clock" => Ok(format!("{:?}", time::Instant::now().elapsed() < time::Duration::MAX)),
        "complain" => {
            eprintln!("this is {what} too much");
            std::process::abort()
        }
        _ => Ok(String::new()),
    }
}

export!(Peek);
