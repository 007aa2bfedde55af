//! A single value or a list of values, as in designs, whose lists are crossed.

use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer, StrDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::marker::PhantomData;

/// One value or a list of values.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

impl<T> OneOrMany<T> {
    pub fn as_slice(&self) -> &[T] {
        match self {
            OneOrMany::One(value) => std::slice::from_ref(value),
            OneOrMany::Many(many) => many,
        }
    }

    /// The value, if there is exactly one. Designs of a resolved experiment have single values.
    pub fn only(&self) -> Option<&T> {
        match self.as_slice() {
            [value] => Some(value),
            _ => None,
        }
    }
}

/// Deserialize a list. A list of one element may be written as that element.
pub fn list<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    Ok(match OneOrMany::deserialize(from)? {
        OneOrMany::One(value) => vec![value],
        OneOrMany::Many(many) => many,
    })
}

/// Selects the variant by the type of the value, so that the error of an inner value is kept. With
/// serde's `untagged` it would only say that no variant matches.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<OneOrMany<T>, D::Error> {
        struct Either<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Either<T> {
            type Value = OneOrMany<T>;
            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("one value or a list of values")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<OneOrMany<T>, E> {
                T::deserialize(StrDeserializer::new(text)).map(OneOrMany::One)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<OneOrMany<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(OneOrMany::One)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<OneOrMany<T>, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(OneOrMany::Many)
            }
        }
        from.deserialize_any(Either(PhantomData))
    }
}
