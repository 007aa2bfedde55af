//! The text form of a [`Spec`]: `KEY` or `KEY:name=value,name=value`. Lists are `[a;b]`, and values
//! that contain commas are quoted.

use super::{Spec, Value};
use crate::{BadInput, Result};
use std::str::FromStr;

impl FromStr for Spec {
    type Err = BadInput;

    fn from_str(text: &str) -> Result<Spec> {
        let (key, arguments) = split(text.trim());
        let mut spec = Spec::of(key.trim());
        let mut rest = arguments;
        while !rest.trim().is_empty() {
            let Some((name, value)) = rest.split_once('=').filter(|(name, _)| !name.contains(',')) else {
                let (part, behind) = rest.split_once(',').unwrap_or((rest, ""));
                if part.trim().is_empty() {
                    rest = behind;
                    continue;
                }
                return Err(BadInput::new(key, format!("'{}'", part.trim()), "name=value"));
            };
            let (value, behind) = value_at_front(value).map_err(|found| BadInput::new(key, format!("{}: {found}", name.trim()), CLOSED))?;
            if spec.values.insert(name.trim().into(), value).is_some() {
                return Err(BadInput::new(key, format!("{} twice", name.trim()), "each parameter once"));
            }
            rest = behind;
        }
        Ok(spec)
    }
}

const CLOSED: &str = "a value such as 64MiB, [1;2] or \"a,b\"";

/// Split into key and arguments. A key may contain colons (`./mine.py:Mine`,
/// `s3://bucket/trace.slt`), the name of a parameter may not: the key ends at the last colon before
/// the first `=`.
fn split(text: &str) -> (&str, &str) {
    match text.find('=') {
        Some(equals) => match text[..equals].rfind(':') {
            Some(colon) => (&text[..colon], &text[colon + 1..]),
            None => (text, ""),
        },
        None => (text.strip_suffix(':').unwrap_or(text), ""),
    }
}

/// Parse the value at the start of `text`. Returns it and the text after the following comma.
fn value_at_front(text: &str) -> std::result::Result<(Value, &str), &'static str> {
    let (value, rest) = element(text.trim_start(), &[','])?;
    let rest = rest.trim_start();
    match rest.strip_prefix(',') {
        Some(behind) => Ok((value, behind)),
        None if rest.is_empty() => Ok((value, "")),
        None => Err("text behind the value's end"),
    }
}

/// Parse a list, a quoted text, or a plain text that ends before one of `ends`. Returns it and the
/// remaining text.
fn element<'a>(text: &'a str, ends: &[char]) -> std::result::Result<(Value, &'a str), &'static str> {
    match text.chars().next() {
        Some('"') => quoted(&text[1..]),
        Some('[') => {
            let (mut values, mut rest) = (Vec::new(), text[1..].trim_start());
            loop {
                if let Some(behind) = rest.strip_prefix(']') {
                    return Ok((Value::List(values), behind));
                }
                if rest.starts_with('[') {
                    return Err("a list in a list");
                }
                let (value, behind) = element(rest, &[';', ']'])?;
                values.push(value);
                rest = behind.trim_start();
                match rest.strip_prefix(';') {
                    Some(behind) => rest = behind.trim_start(),
                    None if rest.starts_with(']') => (),
                    None => return Err("a list without its ']'"),
                }
            }
        }
        _ => {
            let end = text.find(ends).unwrap_or(text.len());
            Ok((Value::Text(text[..end].trim_end().into()), &text[end..]))
        }
    }
}

/// Parse a quoted text up to the closing quote; a backslash escapes the next character. Returns it
/// and the remaining text.
fn quoted(text: &str) -> std::result::Result<(Value, &str), &'static str> {
    let (mut value, mut escaped) = (String::new(), false);
    for (at, c) in text.char_indices() {
        match c {
            '"' if !escaped => return Ok((Value::Text(value), &text[at + 1..])),
            '\\' if !escaped => escaped = true,
            c => {
                value.push(c);
                escaped = false;
            }
        }
    }
    Err("a quote without its end")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> Spec {
        text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
    }

    #[test]
    fn key_and_values_by_hand() {
        assert_eq!(spec("clock"), Spec::of("clock"));
        assert_eq!(spec("clock:"), Spec::of("clock"));
        assert_eq!(spec(" zram : size = 1GiB ,algorithm=lz4,"), Spec::of("zram").with("size", "1GiB").with("algorithm", "lz4"));
        assert_eq!(spec("./mine.py:Mine:bits=2"), Spec::of("./mine.py:Mine").with("bits", "2"));
        assert_eq!(spec("./mine.py:Mine"), Spec::of("./mine.py:Mine"));
        assert_eq!(spec("s3://bucket/trace.slt"), Spec::of("s3://bucket/trace.slt"));
        assert_eq!(spec("a=b.toml"), Spec::of("a=b.toml"));
        assert_eq!(spec("nvm-cache:admission=second-touch:entries=3"), Spec::of("nvm-cache").with("admission", "second-touch:entries=3"));
        assert_eq!(spec("minfree:adj=[0; 900],x=1"), Spec::of("minfree").with("adj", vec!["0", "900"]).with("x", "1"));
        assert_eq!(spec("a:b=[],c=\"x,\\\"y\\\\\""), Spec::of("a").with("b", Vec::<Value>::new()).with("c", "x,\"y\\"));
    }

    #[test]
    fn canonical_text_is_read_back_as_the_same() {
        for text in ["clock", "zram:algorithm=lz4,size=1GiB", "m:adj=[0;900]", "a:b=\"x,y;[z]\\\\\\\"\",c=[\"1;2\";3],d=\"\",e=[]"] {
            assert_eq!(spec(text).to_string(), text);
        }
        assert_eq!(Spec::of("a").with("x", 1.0).with("y", true).with("z", f64::INFINITY).to_string(), "a:x=1,y=on,z=inf");
    }

    #[test]
    fn invalid_texts_are_refused_in_one_line() {
        for (text, said) in [
            ("clock:a,bits=2", "clock: 'a'; expected name=value"),
            ("clock:bits=1,bits=2", "clock: bits twice; expected each parameter once"),
            ("m:adj=[1;2", "m: adj: a list without its ']'; expected a value such as 64MiB, [1;2] or \"a,b\""),
            ("m:adj=[1]2", "m: adj: text behind the value's end; expected a value such as 64MiB, [1;2] or \"a,b\""),
            ("m:a=\"x", "m: a: a quote without its end; expected a value such as 64MiB, [1;2] or \"a,b\""),
            ("m:a=[[1]]", "m: a: a list in a list; expected a value such as 64MiB, [1;2] or \"a,b\""),
            ("m:a=1,b", "m: 'b'; expected name=value"),
        ] {
            assert_eq!(text.parse::<Spec>().unwrap_err().to_string(), said);
        }
    }
}
