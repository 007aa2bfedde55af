//! `launches`: a header `seq,t_s,app,category,fg_s`, then a line for each app launch: its number,
//! its time in seconds, the app and its category, and the seconds for which it stays in front.
//! Times never run backwards. They may be those of a clock, such as seconds since 1970: the trace
//! starts with the first launch.

use super::{decimal, Format, Info, Options};
use crate::builder::TraceBuilder;
use crate::meta::Kind;
use crate::source::{LineError, Lines, Source};
use crate::Mark;
use swaplab_vocab::{BadInput, Result};

const HEADER: &str = "seq,t_s,app,category,fg_s";
const SECOND: u64 = 1_000_000_000;

pub static FORMAT: Format = Format {
    key: "launches",
    what: "header seq,t_s,app,category,fg_s, then a line for each app launch",
    source: "this project",
    parameters: &[],
    info: Info { kind: Kind::Launch, own_options: &[], detect: |_, head| super::first_line(head) == HEADER.as_bytes(), import },
};

fn import(source: &mut Source, builder: &mut TraceBuilder, _: &Options) -> Result<()> {
    let header = super::first_line(source.head());
    if header != HEADER.as_bytes() {
        let found = crate::source::quoted(header);
        return Err(BadInput::new(format!("{}: line 1", source.name), found, format!("the header {HEADER}")));
    }
    let (mut first, mut times) = (true, None);
    let name = source.name.clone();
    Lines::new(source).each(|line| {
        if !std::mem::take(&mut first) {
            times = Some(launch(line, times, builder)?);
        }
        Ok(())
    })?;
    times.map(drop).ok_or_else(|| BadInput::new(name, "no launch in it", "at least one line below the header"))
}

/// The times of the first launch and of the last one so far, ns.
type Times = (u64, u64);

/// Import a line, after launches with `times`.
fn launch(line: &[u8], times: Option<Times>, builder: &mut TraceBuilder) -> std::result::Result<Times, LineError> {
    let text = std::str::from_utf8(line).map_err(|_| LineError::Expected("text in UTF-8"))?;
    let fields: Vec<&str> = text.split(',').collect();
    let [seq, time, app, category, foreground] = fields[..] else {
        return Err(LineError::Expected("five fields: seq,t_s,app,category,fg_s"));
    };
    decimal(seq.as_bytes()).ok_or(LineError::Expected("seq: a whole number first"))?;
    let ns = nanoseconds(time).ok_or(LineError::Expected("t_s: seconds of any clock second"))?;
    let foreground_ns = nanoseconds(foreground).ok_or(LineError::Expected("fg_s: seconds in front fifth"))?;
    if app.is_empty() {
        return Err(LineError::Expected("an app's name third"));
    }
    let (start, before) = times.unwrap_or((ns, 0));
    if ns < before {
        let found = format!("t_s = {time} after {}", before as f64 / SECOND as f64);
        return Err(LineError::Found(found, "times that do not run backwards"));
    }
    let app = builder.app(app, Some(category).filter(|c| !c.is_empty()))?;
    builder.mark(Mark::Time { ns: ns - start })?;
    builder.mark(Mark::Launch { app, foreground_ns })?;
    Ok((start, ns))
}

/// Decimal seconds, with a fraction or without, below 2^32.
fn nanoseconds(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let whole = decimal(whole.as_bytes()).filter(|s| *s <= u64::from(u32::MAX))?;
    if fraction.is_empty() || fraction.len() > 9 {
        return None;
    }
    Some(whole * SECOND + decimal(fraction.as_bytes())? * 10u64.pow(9 - fraction.len() as u32))
}

#[cfg(test)]
mod tests {
    use super::nanoseconds;

    #[test]
    fn seconds_in_decimal() {
        assert_eq!(nanoseconds("12"), Some(12_000_000_000));
        assert_eq!(nanoseconds("0.05"), Some(50_000_000));
        assert_eq!(nanoseconds("3.000000001"), Some(3_000_000_001));
        for bad in ["", "-1", "1e3", "1.", ".5", "1.0000000001", "99999999999"] {
            assert_eq!(nanoseconds(bad), None, "{bad}");
        }
    }
}
