//! Registries: the entries of a kind, and the resolution of a user's spec to an entry.

use super::{Parameter, Params, Spec};
use crate::{unknown_key, BadInput, Result};
use serde::{Serialize, Serializer};

/// An entry of a registry. As JSON it is a row of `swaplab list KIND --json`, in which the members
/// of `info` are on the same level as the others.
#[derive(Debug, Serialize)]
pub struct Entry<I: 'static> {
    pub key: &'static str,
    /// A line of description for `swaplab list`.
    pub what: &'static str,
    /// The source: paper and section, or a file of the kernel.
    pub source: &'static str,
    pub parameters: &'static [Parameter],
    /// Properties of the kind, such as a policy's signal, a scheme's medium or a constructor.
    #[serde(flatten)]
    pub info: I,
}

/// All entries of one kind, in the order of the documents.
#[derive(Debug)]
pub struct Registry<I: 'static> {
    /// The word for an entry in errors, such as `policy` or `scheme`.
    pub kind: &'static str,
    pub entries: &'static [&'static Entry<I>],
}

/// An entry, and its parameters with their values.
#[derive(Debug)]
pub struct Resolved<I: 'static> {
    pub entry: &'static Entry<I>,
    pub params: Params,
}

// Implemented by hand, because derived implementations would require the same traits of `I`, which
// is only referenced.
impl<I> Clone for Resolved<I> {
    fn clone(&self) -> Resolved<I> {
        Resolved { entry: self.entry, params: self.params.clone() }
    }
}

impl<I> Clone for Registry<I> {
    fn clone(&self) -> Registry<I> {
        *self
    }
}

impl<I> Copy for Registry<I> {}

impl<I> Entry<I> {
    /// Resolve this entry with the parameters of `spec`. The key of `spec` is ignored.
    pub fn resolve(&'static self, spec: &Spec) -> Result<Resolved<I>> {
        Ok(Resolved { entry: self, params: Params::resolve(self.key, self.parameters, spec)? })
    }

    /// Resolve this entry with its defaults.
    pub fn defaults(&'static self) -> Resolved<I> {
        self.resolve(&Spec::of(self.key)).unwrap_or_else(|e| panic!("a default of {} is invalid: {e}", self.key))
    }
}

impl<I> Registry<I> {
    pub fn iter(&self) -> impl Iterator<Item = &'static Entry<I>> + Clone {
        self.entries.iter().copied()
    }

    pub fn keys(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.entries.iter().map(|entry| entry.key)
    }

    pub fn has(&self, key: &str) -> bool {
        self.keys().any(|known| known == key)
    }

    /// The entry with this key. The error for an unknown key names the nearest one. For a known key
    /// with a part that is not a parameter (`one:x`), the error expects `name=value`.
    pub fn entry(&self, key: &str) -> Result<&'static Entry<I>> {
        self.iter().find(|entry| entry.key == key).ok_or_else(|| match key.split_once(':') {
            Some((known, part)) if self.has(known) => BadInput::new(known, format!("'{part}'"), "name=value"),
            _ => unknown_key("", self.kind, key, self.keys()),
        })
    }

    /// Resolve `spec`: find its entry and check its parameters.
    pub fn resolve(&self, spec: &Spec) -> Result<Resolved<I>> {
        self.entry(&spec.key)?.resolve(spec)
    }

    /// Parse the text form of a spec and resolve it.
    pub fn parse(&self, text: &str) -> Result<Resolved<I>> {
        self.resolve(&text.parse()?)
    }
}

/// Serializes the rows of `swaplab list KIND --json`.
impl<I: Serialize> Serialize for Registry<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_seq(self.entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Kind, Place, Value};
    use crate::Memory;

    #[derive(Debug, Serialize)]
    struct Toy {
        heavy: bool,
    }

    static ONE: Entry<Toy> = Entry {
        key: "one",
        what: "a toy",
        source: "ours",
        parameters: &[
            Parameter::new("count", Kind::Integer { low: 1, high: 7 }, "2", "how many"),
            Parameter::new("share", Kind::Number { low: 0.0, high: f64::INFINITY }, "0.5", "how much"),
            Parameter::new("size", Kind::Size, "unlimited", "how large").sets(Place::Sysfs, "/sys/size"),
            Parameter::new("mode", Kind::Choice(&["fast", "slow"]), "fast", "how"),
            Parameter::new("loud", Kind::Switch, "off", "whether"),
            Parameter::new("name", Kind::Text, "", "who"),
            Parameter::new("levels", Kind::Integers { low: 0, high: 10 }, "[1;2]", "which"),
        ],
        info: Toy { heavy: true },
    };
    static TWO: Entry<Toy> = Entry { key: "two", what: "another", source: "ours", parameters: &[], info: Toy { heavy: false } };
    const TOYS: Registry<Toy> = Registry { kind: "toy", entries: &[&ONE, &TWO] };

    #[test]
    fn defaults_and_values_have_their_types() {
        let params = TOYS.parse("one").unwrap().params;
        assert_eq!((params.integer("count"), params.number("share"), params.size("size"), params.choice("mode")), (2, 0.5, None, 0));
        assert_eq!(params.number("count"), 2.0);
        assert_eq!((params.switch("loud"), params.text("name"), params.integers("levels")), (false, "", &[1, 2][..]));
        let params = TOYS.parse("one:count=7,share=inf,size=64MiB,mode=slow,loud=on,name=\"a,b\",levels=[3]").unwrap().params;
        assert_eq!((params.integer("count"), params.number("share"), params.choice("mode")), (7, f64::INFINITY, 1));
        assert_eq!(params.size("size"), Some(Memory::Bytes(64 << 20)));
        assert_eq!((params.switch("loud"), params.text("name"), params.integers("levels")), (true, "a,b", &[3][..]));
        assert!(params.is_given("count") && !TOYS.parse("one").unwrap().params.is_given("count"));
        let json = r#"{"count":7,"share":"inf","size":"64MiB","mode":"slow","loud":true,"name":"a,b","levels":[3]}"#;
        assert_eq!(serde_json::to_string(&params).unwrap(), json);
    }

    #[test]
    fn values_come_as_written_in_the_order_of_the_entry() {
        let params = TOYS.parse("one:size=50%,count=3").unwrap().params;
        let expected =
            [("count", "3"), ("share", "0.5"), ("size", "50%"), ("mode", "fast"), ("loud", "off"), ("name", ""), ("levels", "[1;2]")];
        assert_eq!(params.values().collect::<Vec<_>>(), expected);
        assert_eq!((params.owner(), params.has("size"), params.has("height")), ("one", true, false));
        let halved = params.map_sizes(|_| Ok(Memory::Bytes(4096))).unwrap();
        assert_eq!((halved.text("size"), halved.size("size")), ("4096B", Some(Memory::Bytes(4096))));
        assert_eq!(halved.bad("count", "more").to_string(), "one: count=3; expected more");
    }

    #[test]
    #[should_panic(expected = "one has no parameter 'height'")]
    fn an_unknown_parameter_name_in_the_code_panics() {
        TOYS.parse("one").unwrap().params.integer("height");
    }

    #[test]
    #[should_panic(expected = "one: parameter 'size' is of kind size")]
    fn a_wrong_parameter_type_in_the_code_panics() {
        TOYS.parse("one").unwrap().params.integer("size");
    }

    #[test]
    fn keys_are_those_of_the_entries() {
        assert_eq!(TOYS.keys().collect::<Vec<_>>(), ["one", "two"]);
        assert!(TOYS.has("two") && !TOYS.has("three"));
        let unknown = TOYS.entry("three:x").unwrap_err().to_string();
        assert_eq!(unknown, "unknown toy 'three:x'; expected one of: one two");
        assert_eq!(TOYS.entry("one:x").unwrap_err().to_string(), "one: 'x'; expected name=value");
    }

    #[test]
    fn text_and_table_mean_the_same() {
        let text = TOYS.parse("one:count=7,share=0.25,size=50%,loud=off,levels=[3;4]").unwrap();
        let typed: [(&str, Value); 5] =
            [("count", 7.into()), ("share", 0.25.into()), ("size", "50%".into()), ("loud", false.into()), ("levels", vec![3, 4].into())];
        let table = typed.into_iter().fold(Spec::of("one"), |spec, (name, value)| spec.with(name, value));
        let values = |resolved: &Resolved<Toy>| serde_json::to_string(&resolved.params).unwrap();
        assert_eq!(values(&text), values(&TOYS.resolve(&table).unwrap()));
    }

    #[test]
    fn errors_name_what_was_found_and_expected() {
        for (text, said) in [
            ("oen", "unknown toy 'oen'; expected 'one' (did you mean that?)"),
            ("one:cuont=1", "one: unknown parameter 'cuont'; expected 'count' (did you mean that?)"),
            ("one:count", "one: 'count'; expected name=value"),
            ("one:count=8", "one: count=8; expected a whole number from 1 to 7"),
            ("one:count=[1]", "one: count=[1]; expected a whole number from 1 to 7"),
            ("one:share=-1", "one: share=-1; expected a number of 0 or more, or inf"),
            ("one:share=nan", "one: share=nan; expected a number of 0 or more, or inf"),
            ("one:size=25", "one: size: '25' has no unit: 25% or 25MiB?; expected a size such as 64MiB, 4096p or 5%"),
            ("one:mode=fats", "one: unknown mode 'fats'; expected 'fast' (did you mean that?)"),
            ("one:loud=loud", "one: loud=loud; expected on or off"),
            ("one:levels=[1;11]", "one: levels=[1;11]; expected a list of whole numbers from 0 to 10, such as [1;2]"),
        ] {
            assert_eq!(TOYS.parse(text).unwrap_err().to_string(), said);
        }
    }

    #[test]
    fn a_row_has_the_members_of_its_kind_beside_the_others() {
        let rows = serde_json::to_value(TOYS).unwrap();
        assert_eq!(
            (rows[0]["key"].as_str(), rows[0]["heavy"].as_bool(), rows[1]["heavy"].as_bool()),
            (Some("one"), Some(true), Some(false))
        );
        let parameters = &rows[0]["parameters"];
        assert_eq!(
            parameters[0],
            serde_json::json!({"name": "count", "kind": "integer", "low": 1, "high": 7, "default": "2", "meaning": "how many"})
        );
        assert_eq!(parameters[1]["high"], serde_json::Value::Null);
        assert_eq!(parameters[2]["setting"], serde_json::json!({"name": "/sys/size", "place": "sysfs"}));
        assert_eq!(parameters[3]["choices"], serde_json::json!(["fast", "slow"]));
    }
}
