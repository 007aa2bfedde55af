//! `csv`: a header `page,op[,app,class]`, then a line for each reference. Pages in decimal; op `I`,
//! `R` or `W`; class `anonymous`, `file` (private: anonymous from its first write) or `shared`.

use super::{decimal, Format, Info, Options};
use crate::builder::TraceBuilder;
use crate::mappings::ClassAndFile;
use crate::meta::{FilePage, Kind};
use crate::source::{LineError, Lines, Source};
use swaplab_vocab::{BadInput, Class, Op, Result};

pub static FORMAT: Format = Format {
    key: "csv",
    what: "header page,op[,app,class], then a line for each reference",
    source: "this project",
    parameters: &[],
    info: Info { kind: Kind::Page, own_options: &[], detect, import },
};

fn detect(_: &str, head: &[u8]) -> bool {
    super::first_line(head).starts_with(b"page,op")
}

/// The position of each column.
struct Columns {
    app: bool,
    class: bool,
}

fn import(source: &mut Source, builder: &mut TraceBuilder, _: &Options) -> Result<()> {
    let header = String::from_utf8_lossy(super::first_line(source.head())).into_owned();
    let columns = match header.trim_end() {
        "page,op" => Columns { app: false, class: false },
        "page,op,app" => Columns { app: true, class: false },
        "page,op,class" => Columns { app: false, class: true },
        "page,op,app,class" => Columns { app: true, class: true },
        other => return Err(BadInput::new(format!("{}: line 1", source.name), format!("'{other}'"), "the header page,op[,app,class]")),
    };
    let bare = !columns.app && !columns.class;
    let simple = |builder: &mut TraceBuilder, text: &[u8]| if bare { super::take_plain(text, |c| c == b',', builder) } else { Ok(0) };
    let mut first = true;
    Lines::new(source).each_but(builder, simple, |builder, line| {
        if std::mem::take(&mut first) {
            return Ok(());
        }
        reference(line, &columns, builder)
    })
}

fn reference(line: &[u8], columns: &Columns, builder: &mut TraceBuilder) -> std::result::Result<(), LineError> {
    let mut fields = line.split(|c| *c == b',');
    let mut next = || fields.next().unwrap_or(b"");
    let page = decimal(next()).ok_or(LineError::Expected("page,op: a page number below 2^64 in decimal first"))?;
    let op = match next() {
        [letter] => Op::from_letter(*letter),
        _ => None,
    }
    .ok_or(LineError::Expected("page,op: I, R or W second"))?;
    let text = |field: &[u8]| std::str::from_utf8(field).map(str::to_owned).map_err(|_| LineError::Expected("text in UTF-8"));
    let app = if columns.app {
        match next() {
            b"" => return Err(LineError::Expected("an app's name third")),
            name => builder.app(&text(name)?, None)?,
        }
    } else {
        0
    };
    let class = if columns.class {
        Some(Class::from_name(&text(next())?).ok_or(LineError::Expected("a class: anonymous, file or shared"))?)
    } else {
        None
    };
    if fields.next().is_some() {
        return Err(LineError::Expected("as many fields as the header has"));
    }
    let Some(class) = class else { return Ok(builder.access(app, page, op)?) };
    let known = ClassAndFile { class, file_page: FilePage::default() };
    builder.access_as(app, page, op, known)?.map_err(|before| {
        LineError::Found(
            format!("page {page} is {} here and {} before", class.name(), before.name()),
            "one class a page (a private file page stays 'file')",
        )
    })
}
