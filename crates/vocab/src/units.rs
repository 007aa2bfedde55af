//! Units as types, so that a time cannot be added to an energy.

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

/// `value.round() as u64`, without the call into the C library that this is where the processor is
/// not known to round by itself.
#[inline]
pub fn rounded(value: f64) -> u64 {
    // From here on floating-point numbers have no fraction: a sum with it is rounded, halves to
    // even, and ends in the whole number's bits.
    const WHOLE: f64 = (1u64 << 52) as f64;
    if !(0.0..WHOLE).contains(&value) {
        return value.round() as u64;
    }
    let sum = value + WHOLE;
    let went_down_from_a_half = value - (sum - WHOLE) == 0.5;
    sum.to_bits() - WHOLE.to_bits() + u64::from(went_down_from_a_half)
}

#[cfg(test)]
mod tests {
    use super::{rounded, Nanos, Picojoules};

    #[test]
    fn amounts_add_up_and_repeat() {
        let mut total = Nanos(2) + Nanos(3) * 4;
        total += Nanos(1);
        assert_eq!((total, [Nanos(7), Nanos(8)].into_iter().sum::<Nanos>()), (Nanos(15), Nanos(15)));
        assert_eq!(std::iter::empty::<Picojoules>().sum::<Picojoules>(), Picojoules::default());
        assert_eq!(serde_json::to_string(&Picojoules(7)).unwrap(), "7");
    }

    #[test]
    fn rounded_is_what_the_standard_library_rounds_to() {
        let two_to = |exponent: i32| 2f64.powi(exponent);
        for near in [0.5, 1.0, 1.5, 2.5, 1e9 + 0.5, two_to(52), two_to(53), two_to(63), two_to(64), 1e300] {
            let [below, above] = [near.to_bits() - 1, near.to_bits() + 1].map(f64::from_bits);
            for value in [near, below, above, -near, f64::INFINITY, 0.0] {
                assert_eq!(rounded(value), value.round() as u64, "{value}");
            }
        }
        assert_eq!(rounded(f64::NAN), 0);
    }
}
