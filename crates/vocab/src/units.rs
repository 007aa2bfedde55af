//! Units are types, so that a time is never added to an energy.

use serde::{Deserialize, Serialize};

macro_rules! unit {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl std::ops::Add for $name {
            type Output = $name;
            fn add(self, other: $name) -> $name {
                $name(self.0 + other.0)
            }
        }
        impl std::ops::AddAssign for $name {
            fn add_assign(&mut self, other: $name) {
                self.0 += other.0;
            }
        }
        impl std::ops::Mul<u64> for $name {
            type Output = $name;
            fn mul(self, times: u64) -> $name {
                $name(self.0 * times)
            }
        }
        impl std::iter::Sum for $name {
            fn sum<I: Iterator<Item = $name>>(parts: I) -> $name {
                parts.fold($name(0), |a, b| a + b)
            }
        }
    };
}

unit!(
    /// A duration in whole nanoseconds.
    Nanos
);
unit!(
    /// An energy in whole picojoules (2^64 pJ are 18 MJ, more than a thousand phone batteries).
    Picojoules
);
