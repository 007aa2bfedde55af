//! The type of input errors: the place, what was found, and what was expected.

use std::borrow::Cow;
use std::path::Path;

/// An error in a user's input. Displays as one line, `PLACE: FOUND; expected EXPECTED`; commands
/// end with exit code 2.
#[derive(Debug, thiserror::Error)]
pub enum BadInput {
    #[error("{}{}; expected {}", prefix(place), one_line(found), one_line(expected))]
    Value { place: String, found: String, expected: String },
    #[error("{}{}", prefix(place), one_line(&cause_of(source)))]
    Io { place: String, source: std::io::Error },
    /// The user interrupted a long operation. This is no bad input but is propagated in the same
    /// way. Exit code 130.
    #[error("interrupted at {}", one_line(place))]
    Interrupted { place: String },
}

pub type Result<T> = std::result::Result<T, BadInput>;

impl BadInput {
    pub fn new(place: impl Into<String>, found: impl Into<String>, expected: impl Into<String>) -> BadInput {
        BadInput::Value { place: place.into(), found: found.into(), expected: expected.into() }
    }

    pub fn io(place: impl Into<String>, source: std::io::Error) -> BadInput {
        BadInput::Io { place: place.into(), source }
    }

    /// Prepend `outer`, such as a file's name, to the place.
    pub fn within(self, outer: &str) -> BadInput {
        match self {
            BadInput::Value { place, found, expected } if place.is_empty() => BadInput::Value { place: outer.into(), found, expected },
            BadInput::Value { place, found, expected } => BadInput::Value { place: format!("{outer}: {place}"), found, expected },
            BadInput::Io { place, source } if place.is_empty() => BadInput::Io { place: outer.into(), source },
            BadInput::Io { place, source } => BadInput::Io { place: format!("{outer}: {place}"), source },
            stopped => stopped,
        }
    }
}

/// Say why a system call failed, without the error's number, which Rust adds.
pub fn cause_of(error: &std::io::Error) -> String {
    let text = error.to_string();
    match error.raw_os_error() {
        Some(number) => text.strip_suffix(&format!(" (os error {number})")).unwrap_or(&text).into(),
        None => text,
    }
}

/// The prefix of a message for its place. It is empty for an error without a place, such as an
/// unknown key.
fn prefix(place: &str) -> String {
    if place.is_empty() {
        String::new()
    } else {
        format!("{}: ", one_line(place))
    }
}

/// Replace control characters, which keys and names of files may contain, so that a message is one
/// line.
fn one_line(text: &str) -> Cow<'_, str> {
    if text.chars().any(char::is_control) {
        text.replace(char::is_control, "\u{fffd}").into()
    } else {
        text.into()
    }
}

/// Format a path for a message: bytes that are not UTF-8 are escaped (`\xff`).
pub fn path_for_message(path: &Path) -> String {
    let chunks = path.as_os_str().as_encoded_bytes().utf8_chunks();
    chunks.map(|chunk| format!("{}{}", chunk.valid(), chunk.invalid().escape_ascii())).collect()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn an_outer_place_goes_in_front_of_the_inner_one() {
        let value = |place: &str| BadInput::new(place, "7", "less").within("a.toml").to_string();
        assert_eq!(
            (value("machine.dram"), value("")),
            ("a.toml: machine.dram: 7; expected less".into(), "a.toml: 7; expected less".into())
        );
        let io = |place: &str| BadInput::io(place, std::io::Error::other("full")).within("a.toml").to_string();
        assert_eq!((io("part"), io("")), ("a.toml: part: full".into(), "a.toml: full".into()));
        assert_eq!(BadInput::io("a", std::io::Error::from_raw_os_error(2)).to_string(), "a: No such file or directory");
        let stopped = BadInput::Interrupted { place: "reference 7".into() };
        assert_eq!(stopped.within("a.toml").to_string(), "interrupted at reference 7");
    }

    #[test]
    fn control_characters_are_replaced() {
        let value = BadInput::new("a\nb", "\u{1b}[31mc", "d\te");
        assert_eq!(value.to_string(), "a\u{fffd}b: \u{fffd}[31mc; expected d\u{fffd}e");
        let io = BadInput::io("\r", std::io::Error::other("x\ny"));
        assert_eq!(io.to_string(), "\u{fffd}: x\u{fffd}y");
        assert_eq!(BadInput::Interrupted { place: "\0".into() }.to_string(), "interrupted at \u{fffd}");
    }

    #[test]
    fn a_path_that_is_not_utf_8_is_escaped() {
        assert_eq!(path_for_message(Path::new(std::ffi::OsStr::from_bytes(b"a\xff\xc3\xa4/b\xe4"))), "a\\xff\u{e4}/b\\xe4");
    }
}
