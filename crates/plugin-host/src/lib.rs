//! Policies from shared libraries: `./libmine.so:mine`. The library is opened by `libloading`; what
//! it exports is the C interface of `swaplab_plugin::abi`. What a policy does is checked here, so
//! that a slip ends the replay with one line: a page released that is not in memory, or when
//! nothing may be released. What its machine code does can't be: a library is as trusted as a
//! program.

mod loaded;

use libloading::{Library, Symbol};
use loaded::LoadedFactory;
use std::path::Path;
use std::sync::Arc;
use swaplab_plugin::abi::{self, Entry, Table, Text, SYMBOL, VERSION};
use swaplab_policy::{Entry as PolicyEntry, FileKey, Info, PolicySpec, Signal};
use swaplab_vocab::{unknown_key, BadInput, Kind, Parameter, Result};

/// The policy that `key` names in its library. The library stays loaded until the process ends.
pub fn load(key: &FileKey) -> Result<PolicySpec> {
    let place = key.file.as_str();
    // Without a folder in its name, a library would be looked for where the system keeps its own.
    let path = Path::new(place).canonicalize().map_err(|e| BadInput::io(place, e))?;
    let not_one = |found: String| BadInput::new(place, found, "a policy library (docs/how-to/policy-author.md)");
    // SAFETY: the user asks for this library's code to be run, initialisers included.
    let library = unsafe { Library::new(&path) }.map_err(|e| not_one(one_line(&e)))?;
    // SAFETY: a library that exports this name promises the type that goes with it.
    let entry: Symbol<Entry> = unsafe { library.get(SYMBOL.as_bytes()) }.map_err(|_| not_one(format!("exports no function {SYMBOL}")))?;
    // SAFETY: as above; the function takes nothing.
    let exported = unsafe { entry() };
    std::mem::forget(library);
    // SAFETY: null or a constant of a library that is never unloaded; its version is read before
    // anything else.
    let tables = unsafe { tables(place, exported) }?;
    of_tables(key, tables)
}

/// What a library exports, if it speaks our version of the interface.
///
/// # Safety
/// `exported` is null or points to a constant [`abi::Library`], whose layout is ours if its version
/// is.
unsafe fn tables(place: &str, exported: *const abi::Library) -> Result<&'static [Table]> {
    if exported.is_null() {
        return Err(BadInput::new(place, "no policies", "a library that exports at least one"));
    }
    // SAFETY: the caller's promise: the version stands first in every version of the interface.
    let version = unsafe { exported.cast::<u32>().read() };
    if version != VERSION {
        let expected = format!("version {VERSION}: build it against this swaplab");
        return Err(BadInput::new(place, format!("policy interface of version {version}"), expected));
    }
    // SAFETY: the caller's promise, for our version.
    Ok(unsafe {
        if (*exported).count == 0 {
            &[]
        } else {
            std::slice::from_raw_parts((*exported).policies, (*exported).count)
        }
    })
}

fn of_tables(key: &FileKey, tables: &'static [Table]) -> Result<PolicySpec> {
    let names: Vec<&str> = tables.iter().map(|t| text(t.key)).collect();
    let Some(table) = tables.iter().find(|t| text(t.key) == key.name) else {
        return Err(match key.name.as_str() {
            "" => BadInput::new(&key.file, "no policy named", format!("{}:NAME, one of: {}", key.file, names.join(" "))),
            name => unknown_key(&key.file, "policy", name, names.iter().copied()),
        });
    };
    let entry = Box::leak(Box::new(entry(key, table)?));
    PolicySpec::external(&key.text, &key.spec, entry, Arc::new(LoadedFactory { key: entry.key, table }))
}

fn entry(key: &FileKey, table: &'static Table) -> Result<PolicyEntry> {
    let signal = match table.signal {
        0 => Signal::Exact,
        1 => Signal::ReferenceBit,
        2 => Signal::FaultOnly,
        other => return Err(BadInput::new(&key.text, format!("signal {other}"), "0, 1 or 2")),
    };
    let rows = match table.parameter_count {
        0 => &[][..],
        // SAFETY: a constant of the library.
        count => unsafe { std::slice::from_raw_parts(table.parameters, count) },
    };
    let parameters: Vec<Parameter> =
        rows.iter().map(|p| Parameter::new(text(p.name), Kind::Text, text(p.default), text(p.meaning))).collect();
    Ok(PolicyEntry {
        key: format!("{}:{}", key.file, key.name).leak(),
        what: text(table.what),
        source: text(table.source),
        parameters: parameters.leak(),
        info: Info::online(signal),
    })
}

/// A text constant of a library.
fn text(text: Text) -> &'static str {
    // SAFETY: constants of a library live as long as it does, which is as long as the process.
    std::str::from_utf8(unsafe { text.bytes() }).unwrap_or("?")
}

fn one_line(error: &libloading::Error) -> String {
    let mut said = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        said = inner.to_string();
        source = inner.source();
    }
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}
