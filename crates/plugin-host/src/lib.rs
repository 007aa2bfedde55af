//! Policies from shared libraries: `./libmine.so:mine`. `libloading` opens the library, which
//! exports the C interface of `swaplab_plugin::abi`. Each release of a page is checked here: the
//! page must be in memory, and the current call must be one that permits releases. A violation ends
//! the replay with one line. The library's machine code is not confined, so a user must trust a
//! library as much as a program.

mod loaded;

use libloading::{Library, Symbol};
use loaded::LoadedFactory;
use std::path::Path;
use std::sync::Arc;
use swaplab_plugin::abi::{self, ExportFn, PolicyTable, Text, SYMBOL, VERSION};
use swaplab_policy::{Entry, FileKey, Info, PolicySpec, Signal};
use swaplab_vocab::{unknown_key, BadInput, Kind, Parameter, Result};

/// Load the policy that `key` names from its library, which stays loaded until the process ends.
pub fn load(key: &FileKey) -> Result<PolicySpec> {
    let place = key.file.as_str();
    // The loader searches the system's folders for a name without a folder.
    let path = Path::new(place).canonicalize().map_err(|e| BadInput::io(place, e))?;
    let no_policy_library = |found: String| BadInput::new(place, found, "a policy library (docs/how-to/policy-author.md)");
    // SAFETY: the user has asked to run this library's code, which includes its initializers.
    let library = unsafe { Library::new(&path) }.map_err(|e| no_policy_library(one_line(&e)))?;
    // SAFETY: a library that exports this name gives it the type `ExportFn`.
    let entry: Symbol<ExportFn> =
        unsafe { library.get(SYMBOL.as_bytes()) }.map_err(|_| no_policy_library(format!("exports no function {SYMBOL}")))?;
    // SAFETY: as above; the function has no arguments.
    let exported = unsafe { entry() };
    std::mem::forget(library);
    // SAFETY: the pointer is null or points to a constant of a library that is never unloaded.
    // `tables` reads the version first.
    let tables = unsafe { tables(place, exported) }?;
    policy_in_tables(key, tables)
}

/// The policies that a library exports. Refuses another version of the interface.
///
/// # Safety
/// `exported` is null or points to a constant [`abi::Exports`], which has this layout if its
/// version is [`VERSION`].
unsafe fn tables(place: &str, exported: *const abi::Exports) -> Result<&'static [PolicyTable]> {
    if exported.is_null() {
        return Err(BadInput::new(place, "no policies", "a library that exports at least one"));
    }
    // SAFETY: guaranteed by the caller; the version is the first field in every version of the
    // interface.
    let version = unsafe { exported.cast::<u32>().read() };
    if version != VERSION {
        let expected = format!("version {VERSION}: build it against this swaplab");
        return Err(BadInput::new(place, format!("policy interface of version {version}"), expected));
    }
    // SAFETY: guaranteed by the caller for this version.
    Ok(unsafe {
        if (*exported).count == 0 {
            &[]
        } else {
            std::slice::from_raw_parts((*exported).policies, (*exported).count)
        }
    })
}

fn policy_in_tables(key: &FileKey, tables: &'static [PolicyTable]) -> Result<PolicySpec> {
    let names = tables.iter().map(|table| text(&key.file, "the key of a policy", table.key)).collect::<Result<Vec<&str>>>()?;
    let Some(table) = names.iter().position(|name| *name == key.name).map(|at| &tables[at]) else {
        return Err(match key.name.as_str() {
            "" => BadInput::new(&key.file, "no policy named", format!("{}:NAME, one of: {}", key.file, names.join(" "))),
            name => unknown_key(&key.file, "policy", name, names.iter().copied()),
        });
    };
    let entry = Box::leak(Box::new(entry(key, table)?));
    PolicySpec::external(&key.text, &key.spec, entry, Arc::new(LoadedFactory { entry, table }))
}

fn entry(key: &FileKey, table: &'static PolicyTable) -> Result<Entry> {
    let signal = match table.signal {
        0 => Signal::Exact,
        1 => Signal::ReferenceBit,
        2 => Signal::FaultOnly,
        other => return Err(BadInput::new(&key.text, format!("signal {other}"), "0, 1 or 2")),
    };
    let rows = match table.parameter_count {
        0 => &[][..],
        // SAFETY: the parameters are a constant of the library.
        count => unsafe { std::slice::from_raw_parts(table.parameters, count) },
    };
    let text = |what: &str, constant: Text| text(&key.text, what, constant);
    let parameter = |p: &abi::Parameter| {
        let name = text("the name of a parameter", p.name)?;
        let [default, meaning] =
            [("default", p.default), ("meaning", p.meaning)].map(|(of, constant)| text(&format!("the {of} of {name}"), constant));
        Ok(Parameter::new(name, Kind::Text, default?, meaning?))
    };
    let parameters = rows.iter().map(parameter).collect::<Result<Vec<Parameter>>>()?;
    Ok(Entry {
        key: format!("{}:{}", key.file, key.name).leak(),
        what: text("its description", table.what)?,
        source: text("its source", table.source)?,
        parameters: parameters.leak(),
        info: Info::online(signal),
    })
}

/// A text constant of a library. `what` names it in the error for a text that is not UTF-8.
fn text(place: &str, what: &str, constant: Text) -> Result<&'static str> {
    // SAFETY: the library is never unloaded, so its constants live as long as the process.
    let bytes: &'static [u8] = unsafe { constant.bytes() };
    std::str::from_utf8(bytes).map_err(|_| BadInput::new(place, format!("{what} is '{}'", bytes.escape_ascii()), "a text in UTF-8"))
}

fn one_line(error: &libloading::Error) -> String {
    let mut message = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        message = inner.to_string();
        source = inner.source();
    }
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_not_utf_8_is_refused_and_shown() {
        let constant = |bytes: &'static [u8]| Text { start: bytes.as_ptr(), length: bytes.len() };
        assert_eq!(text("libmine.so", "the key of a policy", constant("café".as_bytes())).unwrap(), "café");
        let refused = text("libmine.so", "the key of a policy", constant(b"caf\xe9")).unwrap_err();
        assert_eq!(refused.to_string(), r"libmine.so: the key of a policy is 'caf\xe9'; expected a text in UTF-8");
    }
}
