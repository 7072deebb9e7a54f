//! What the guests share: just enough JSON to find a text or a number in an object.

/// The text of `"key": "text"`, wherever it stands; escapes are left as they are.
pub fn text<'a>(json: &'a str, key: &str) -> Option<&'a str> {
    let rest = value(json, key)?.strip_prefix('"')?;
    Some(&rest[..rest.find('"')?])
}

/// The number of `"key": number`.
pub fn number(json: &str, key: &str) -> Option<i64> {
    let rest = value(json, key)?;
    let end = rest.find(|c: char| c != '-' && !c.is_ascii_digit())?;
    rest[..end].parse().ok()
}

fn value<'a>(json: &'a str, key: &str) -> Option<&'a str> {
    let quoted = ["\"", key, "\""].concat();
    let rest = &json[json.find(&quoted)? + quoted.len()..];
    Some(rest.trim_start().strip_prefix(':')?.trim_start())
}

pub fn as_text(json: Vec<u8>) -> Result<String, String> {
    String::from_utf8(json).map_err(|_| "not UTF-8".to_string())
}
