//! The form of a [`Spec`] in JSON and TOML: its text, or a table with `key`.

use super::{Spec, Value};
use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// The member of a table that has the key of the spec.
const KEY: &str = "key";

impl Serialize for Spec {
    /// Serializes the text if every value is a scalar, otherwise the table.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.values.values().any(|value| matches!(value, Value::List(_))) {
            return serializer.collect_str(self);
        }
        let mut table = serializer.serialize_map(None)?;
        table.serialize_entry(KEY, &self.key)?;
        for (name, value) in &self.values {
            table.serialize_entry(name, value)?;
        }
        table.end()
    }
}

impl Serialize for Value {
    /// Serializes a number that JSON does not have (`inf`) as a text.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Switch(on) => serializer.serialize_bool(*on),
            Value::Integer(number) => serializer.serialize_i64(*number),
            Value::Number(number) if number.is_finite() => serializer.serialize_f64(*number),
            Value::Number(number) => serializer.collect_str(number),
            Value::Text(text) => serializer.serialize_str(text),
            Value::List(values) => values.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Spec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Spec, D::Error> {
        deserializer.deserialize_any(SpecVisitor)
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct SpecVisitor;

impl<'de> Visitor<'de> for SpecVisitor {
    type Value = Spec;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a text such as KEY:name=value, or a table with a key")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Spec, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<Spec, A::Error> {
        let mut spec = Spec::default();
        let mut keyed = false;
        while let Some(name) = table.next_key::<String>()? {
            if name == KEY {
                spec.key = table.next_value()?;
                keyed = true;
            } else {
                spec.values.insert(name, table.next_value()?);
            }
        }
        if keyed {
            Ok(spec)
        } else {
            Err(A::Error::custom("a table without a key; expected { key = \"KEY\", name = value }"))
        }
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a number, a text, true or false, or a list of them")
    }

    fn visit_bool<E: Error>(self, on: bool) -> Result<Value, E> {
        Ok(Value::Switch(on))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Integer(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        // An integer beyond `i64` is kept as a text.
        Ok(i64::try_from(number).map_or_else(|_| Value::Text(number.to_string()), Value::Integer))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Number(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            if matches!(value, Value::List(_)) {
                return Err(A::Error::custom("a list in a list; expected a list of numbers or texts"));
            }
            values.push(value);
        }
        Ok(Value::List(values))
    }

    /// The value of a parameter may be a spec itself, which is kept as its text.
    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Value, A::Error> {
        SpecVisitor.visit_map(table).map(|spec| Value::Text(spec.to_string()))
    }
}

impl JsonSchema for Spec {
    fn schema_name() -> Cow<'static, str> {
        "Spec".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let scalar = json_schema!({ "type": ["boolean", "number", "string"] });
        json_schema!({
            "description": "A key of a registry with parameters: `KEY:name=value,name=value`, or a table `{ key = \"KEY\", name = value }`.",
            "anyOf": [
                { "type": "string" },
                {
                    "type": "object",
                    "properties": { "key": { "type": "string" } },
                    "required": ["key"],
                    "additionalProperties": { "anyOf": [scalar.clone(), { "type": "array", "items": scalar }] },
                },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct File {
        x: Spec,
    }

    fn toml(text: &str) -> Result<Spec, String> {
        toml::from_str::<File>(text).map(|file| file.x).map_err(|e| e.message().to_string())
    }

    #[test]
    fn text_and_table_mean_the_same() {
        assert_eq!(toml("x = 'zram:size=1GiB'").unwrap(), toml("x = { key = 'zram', size = '1GiB' }").unwrap());
        let killer = toml("x = { key = 'minfree', adj = [0, 900], on = true, share = inf }").unwrap();
        assert_eq!(killer, Spec::of("minfree").with("adj", vec![0, 900]).with("on", true).with("share", f64::INFINITY));
        let nested = toml("x = { key = 'nvm-cache', admission = { key = 'second-touch', entries = 3 } }").unwrap();
        assert_eq!(nested, Spec::of("nvm-cache").with("admission", "second-touch:entries=3"));
    }

    #[test]
    fn json_gives_back_what_it_was_given() {
        for (spec, json) in [
            (Spec::of("clock"), r#""clock""#),
            (Spec::of("a").with("t", f64::INFINITY).with("n", 2), r#""a:n=2,t=inf""#),
            (Spec::of("m").with("adj", vec![0, 900]).with("t", f64::INFINITY), r#"{"key":"m","adj":[0,900],"t":"inf"}"#),
            (Spec::of("m").with("adj", vec![0, 900]).with("t", 0.5), r#"{"key":"m","adj":[0,900],"t":0.5}"#),
        ] {
            assert_eq!(serde_json::to_string(&spec).unwrap(), json);
            assert_eq!(serde_json::from_str::<Spec>(json).unwrap().to_string(), spec.to_string());
        }
        assert_eq!(serde_json::from_str::<Value>("18446744073709551615").unwrap(), Value::from("18446744073709551615"));
    }

    #[test]
    fn errors_are_one_line() {
        assert_eq!(toml("x = { name = 'zram' }").unwrap_err(), "a table without a key; expected { key = \"KEY\", name = value }");
        assert_eq!(toml("x = 'clock:a,b=1'").unwrap_err(), "clock: 'a'; expected name=value");
        assert!(toml("x = 5").unwrap_err().contains("expected a text such as KEY:name=value, or a table with a key"));
        assert!(toml("x = { key = 'a', b = [[1]] }").unwrap_err().contains("a list in a list"));
        let null = serde_json::from_str::<Value>("null").unwrap_err().to_string();
        assert!(null.contains("expected a number, a text, true or false, or a list of them"), "{null}");
    }

    #[test]
    fn the_schema_allows_both_forms() {
        #[derive(JsonSchema)]
        #[allow(dead_code)]
        struct File {
            x: Spec,
        }
        let schema = serde_json::to_value(schemars::schema_for!(File)).unwrap();
        assert_eq!(schema["properties"]["x"]["$ref"], "#/$defs/Spec");
        let forms = &schema["$defs"]["Spec"]["anyOf"];
        assert_eq!((&forms[0]["type"], &forms[1]["type"]), (&"string".into(), &"object".into()));
        assert_eq!(forms[1]["required"], serde_json::json!(["key"]));
        let of_values = &forms[1]["additionalProperties"]["anyOf"];
        assert_eq!(of_values[1]["items"], of_values[0]);
    }
}
